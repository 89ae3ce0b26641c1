// Search shows a few words of each page that it finds, which it fetches. Browsers refuse that to pages in a folder.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// What can be scrolled sideways can be scrolled with the keyboard.
const wide = () => document.querySelectorAll("article pre, .table-wrapper, .math-wrapper, mjx-container[display]").forEach((box) => {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
});
addEventListener("load", () => {
  wide();
  window.MathJax?.startup?.promise?.then(wide); // formulas are set later
});
addEventListener("resize", wide);
