// The source of a citation, shown while the pointer or the focus is on it.
import { by, make } from "./dom.js";
import { quoteBox, sourceHead, sourcePlace } from "./answer.js";

export function showCitations(citationOf) {
  const over = (event) => event.target.closest?.(".citation");
  const show = (event) => { if (over(event)) showPopover(over(event), citationOf(over(event))); };
  document.addEventListener("mouseover", show);
  document.addEventListener("mouseout", (event) => { if (over(event)) hidePopover(); });
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hidePopover);
  document.addEventListener("click", (event) => {
    const link = over(event);
    if (!link) return;
    event.preventDefault();
    hidePopover();
    const card = by(link.hash.slice(1));
    card?.scrollIntoView({ block: "center" });
    card?.classList.add("lit");
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hidePopover(); });
}

function showPopover(link, citation) {
  hidePopover();
  if (!citation) return;
  const box = make("div");
  box.id = "popover";
  box.setAttribute("role", "tooltip");
  box.append(sourceHead(citation, true), sourcePlace(citation), quoteBox(citation));
  document.body.append(box);
  const place = link.getBoundingClientRect();
  box.style.left = `${Math.max(16, Math.min(place.left, innerWidth - box.offsetWidth - 16)) + scrollX}px`;
  const below = place.bottom + 8 + box.offsetHeight < innerHeight;
  box.style.top = `${(below ? place.bottom + 8 : Math.max(8, place.top - box.offsetHeight - 8)) + scrollY}px`;
  by(link.hash.slice(1))?.classList.add("lit");
}

function hidePopover() {
  by("popover")?.remove();
  document.querySelectorAll(".lit").forEach((one) => one.classList.remove("lit"));
}
