function key(row, column) {
  const cell = row.cells[column];
  if (cell && cell.dataset.number !== undefined) return Number(cell.dataset.number);
  return cell && cell.dataset.text;
}
function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? (a > b) - (a < b) : String(a).localeCompare(String(b), undefined, { numeric: true });
}
function sort(table, head) {
  const rows = [...table.tBodies[0].rows], column = head.cellIndex;
  const known = rows.filter(row => key(row, column) !== undefined);
  const first = known.length && typeof key(known[0], column) === "number" ? "descending" : "ascending";
  const other = { ascending: "descending", descending: "ascending" };
  const way = other[head.getAttribute("aria-sort")] || first;
  const sign = way === "ascending" ? 1 : -1;
  known.sort((a, b) => sign * compare(key(a, column), key(b, column)));
  for (const each of table.tHead.rows[0].cells) each.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", way);
  table.tBodies[0].append(...known, ...rows.filter(row => !known.includes(row)));  // the unknown stay last
}
for (const button of document.querySelectorAll("th button"))
  button.addEventListener("click", () => sort(button.closest("table"), button.closest("th")));
