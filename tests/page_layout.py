"""Measure a page in a browser: find texts that overlap, and texts that stick out of their box."""

# Pieces of text as a visitor sees them: clipped by every box around them that hides or scrolls.
_MEASURE = """
() => {
  const pieces = [], outside = [];
  const hides = (style) => [style.overflowX, style.overflowY].some((how) => how !== "visible");
  for (const element of document.body.querySelectorAll("*")) {
    if (["SCRIPT", "STYLE", "TEMPLATE", "OPTION", "NOSCRIPT"].includes(element.tagName)) continue;
    if (!element.checkVisibility()) continue; // in a fold that is closed
    for (const node of element.childNodes) {
      if (node.nodeType !== 3 || !node.textContent.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const whole of range.getClientRects()) {
        if (whole.width < 1 || whole.height < 1) continue;
        let seen = { left: whole.left, right: whole.right, top: whole.top, bottom: whole.bottom };
        let hidden = false, scrolls = false, block = null;
        for (let around = element; around; around = around.parentElement) {
          const style = getComputedStyle(around);
          if (style.visibility === "hidden" || style.clipPath !== "none") hidden = true;
          if (!block && style.display !== "inline" && style.display !== "contents") block = around;
          if (around !== document.body && around !== document.documentElement && hides(style)) {
            const box = around.getBoundingClientRect();
            scrolls = true;
            seen = { left: Math.max(seen.left, box.left), right: Math.min(seen.right, box.right),
                     top: Math.max(seen.top, box.top), bottom: Math.min(seen.bottom, box.bottom) };
          }
        }
        const text = node.textContent.trim().slice(0, 60);
        if (hidden || seen.left < -9000) continue;
        const box = block.getBoundingClientRect();
        const leaves = whole.right > box.right + 1 || whole.left < box.left - 1;
        if (leaves) outside.push(`${block.tagName}: ${text}`);
        if (!scrolls && whole.right > innerWidth + 1) outside.push(`page: ${text}`);
        if (seen.right - seen.left > 1 && seen.bottom - seen.top > 1) pieces.push({ ...seen, element, text });
      }
    }
  }
  const overlaps = [];
  pieces.sort((a, b) => a.top - b.top);
  for (let i = 0; i < pieces.length; i++) {
    for (let j = i + 1; j < pieces.length && pieces[j].top < pieces[i].bottom - 2; j++) {
      const [a, b] = [pieces[i], pieces[j]];
      if (a.element === b.element) continue;
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 3) overlaps.push(`${a.text} / ${b.text}`);
    }
  }
  return { overlaps, outside };
}
"""


def misplaced(page):
    """List texts that overlap other texts, and texts that stick out of their box."""
    found = page.evaluate(_MEASURE)
    return found["overlaps"] + found["outside"]


def first_number(page):
    """Return how far below the top of the page the first number of the table ends, in pixels."""
    return page.evaluate(
        """() => Math.min(...[...document.querySelectorAll("#board tbody td .v")]
          .filter((cell) => /^[01][.]/.test(cell.textContent))
          .map((cell) => cell.getBoundingClientRect())
          .filter((box) => box.left >= 0 && box.right <= innerWidth && box.width)
          .map((box) => box.bottom + scrollY))"""
    )
