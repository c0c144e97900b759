/* Tables that sort by a click on a heading and search all their rows. */
function setUpTable(box) {
  const body = box.querySelector("tbody"), rows = [...body.rows], first = Number(box.dataset.first);
  const search = box.querySelector("input"), found = box.querySelector(".found"), more = box.querySelector(".more");
  let wantsAll = false;
  const show = () => {
    const wanted = search ? search.value.trim().toLowerCase() : "";
    let seen = 0;
    for (const row of body.rows) {
      const fits = !wanted || row.textContent.toLowerCase().includes(wanted);
      row.hidden = !fits || (!wanted && !wantsAll && seen >= first);
      seen += fits;
    }
    if (found) found.textContent = wanted ? `${seen} of ${rows.length} rows` : "";
    if (more) more.hidden = wantsAll || Boolean(wanted);
  };
  const order = (column, heading) => {
    const falls = heading.getAttribute("aria-sort") === "descending" || (heading.getAttribute("aria-sort") === "none" && heading.className !== "number");
    const key = (row) => {
      const cell = row.cells[column];
      return cell.dataset.value === undefined ? (heading.className === "number" ? null : cell.textContent) : Number(cell.dataset.value);
    };
    const sign = falls ? 1 : -1;
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "number" ? x - y : x.localeCompare(y));
    };
    body.append(...rows.slice().sort(compare));
    for (const other of heading.parentNode.cells) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", falls ? "ascending" : "descending");
    show();
  };
  [...box.querySelectorAll("th")].forEach((heading, column) => heading.firstElementChild.addEventListener("click", () => order(column, heading)));
  if (search) search.addEventListener("input", show);
  if (more) more.addEventListener("click", () => { wantsAll = true; show(); });
}
