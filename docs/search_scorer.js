/* How the search of the site ranks pages: a guide whose title has the words that were typed comes first.

   Sphinx gives each result a score of at most some tens. What is added here is larger, so that the title and
   the kind of page decide, and Sphinx's score orders the rest. Sphinx reads `Scorer` as a variable of the page, so it is no `const`. */
var Scorer = (() => {
  const typed = () => (new URLSearchParams(window.location.search).get("q") || "").toLowerCase();
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_-]+/gu) || [];

  /* The share of the typed words that a title has; a word with another ending counts a little less. */
  const inTitle = (title) => {
    const wanted = words(typed());
    const there = words(title);
    const points = wanted.map((word) =>
      there.includes(word) ? 1 : there.some((other) => other.startsWith(word.replace(/s$/, ""))) ? 0.8 : 0,
    );
    return wanted.length ? points.reduce((sum, one) => sum + one, 0) / wanted.length : 0;
  };

  /* Guides and references, then tutorials, then results, then the reference of the Python API. */
  const kindOfPage = (page) => {
    if (page.startsWith("build/api/")) return page.endsWith("commands") ? 20 : 0;
    if (/^docs\/tutorial-/.test(page)) return 30;
    if (/^docs\/[^/]+$/.test(page)) return page.endsWith("README") ? 10 : 40;
    return 10;
  };

  return {
    score: ([page, title, anchor, , score]) => {
      if (page.startsWith("build/api/")) return score / 100 + kindOfPage(page);
      return score / 10 + kindOfPage(page) + inTitle(title) * (anchor ? 50 : 100);
    },
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
  };
})();
