// What is wider than its place scrolls by itself. The keyboard scrolls what has the focus, so these parts can have it.
const KINDS = { pre: 'Code', '.table-wrapper': 'Table', 'div.math': 'Formula', '.cell_output .text_html': 'Result' };

function mark(part, name) {
  const scrolls = part.scrollWidth > part.clientWidth;
  const attributes = { tabindex: '0', role: 'group', 'aria-label': `${name}, scrolls sideways` };
  for (const [key, value] of Object.entries(attributes)) {
    if (scrolls) part.setAttribute(key, value);
    else part.removeAttribute(key);
  }
}

for (const [selector, name] of Object.entries(KINDS)) {
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => mark(target, name)));
  document.querySelectorAll(`article ${selector}`).forEach((part) => observer.observe(part));
}
