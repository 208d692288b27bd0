"use strict";
// Shows one algorithm, one type, or both. The choice is in the URL's fragment, so that it can be sent to somebody:
// report.html#algorithm=scan&type=float32
(() => {
  const form = document.getElementById("filter");
  const output = form.querySelector("output");
  const sections = [...document.querySelectorAll("section.algorithm")];
  const headings = [...document.querySelectorAll("h2.phase")];
  const lines = [...document.querySelectorAll(".overview tr[data-of]")];

  // What has no words holds for every type. A key with sizes alone is found by the types of that size.
  const found = (element, word, sizeWord) => {
    const words = element.dataset.t ? element.dataset.t.split(" ") : [];
    return !word || words.length === 0 || words.includes(word) || words.includes(sizeWord);
  };

  const apply = () => {
    const algorithm = form.elements.algorithm.value;
    const chosen = form.elements.type.selectedOptions[0];
    const word = chosen.value;
    const sizeWord = chosen.dataset.size;
    let policies = 0;
    const shown = new Set();
    for (const section of sections) {
      const entries = [...section.querySelectorAll(".policies tbody")];
      const matching = entries.filter((entry) => found(entry, word, sizeWord));
      const name = section.dataset.algorithm;
      section.hidden = (algorithm && algorithm !== name) || matching.length === 0;
      if (section.hidden) continue;
      shown.add(name);
      policies += matching.length;
      for (const element of section.querySelectorAll("tbody[data-t], svg [data-t]")) {
        element.classList.toggle("off", !found(element, word, sizeWord));
      }
    }
    for (const heading of headings) {
      let next = heading.nextElementSibling;
      heading.hidden = true;
      for (; next && next.matches("section.algorithm"); next = next.nextElementSibling) {
        if (!next.hidden) heading.hidden = false;
      }
    }
    for (const line of lines) line.hidden = !shown.has(line.dataset.of);
    for (const body of document.querySelectorAll(".overview tbody")) {
      body.hidden = !body.querySelector("tr[data-of]:not([hidden])");
    }
    output.textContent = `${shown.size} of ${sections.length} algorithms and tables, ${policies} ${policies === 1 ? "row" : "rows"} of policies`;
    document.body.dataset.ready = "";
  };

  const read = () => {
    if (!location.hash.includes("=")) return;
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const name of ["algorithm", "type"]) {
      const select = form.elements[name];
      const known = [...select.options].some((option) => option.value === asked.get(name));
      select.value = known ? asked.get(name) : "";
    }
  };

  const write = () => {
    const asked = new URLSearchParams();
    for (const name of ["algorithm", "type"]) {
      if (form.elements[name].value) asked.set(name, form.elements[name].value);
    }
    history.replaceState(null, "", `#${asked}`);
  };

  form.addEventListener("change", () => { write(); apply(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  // the controls have their old values until the event is over
  form.addEventListener("reset", () => setTimeout(() => { write(); apply(); }));
  addEventListener("hashchange", () => { read(); apply(); });
  read();
  apply();
})();
