// Draws the page's diagrams in Mermaid's language, and again when the page turns dark or light.

const sources = [...document.querySelectorAll('.highlight-mermaid')].map((block) => ({
  block,
  text: block.textContent,
}));

const isDark = () => {
  const theme = document.body.dataset.theme;
  return theme === 'auto' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
};

async function draw() {
  mermaid.initialize({
    startOnLoad: false,
    theme: isDark() ? 'dark' : 'neutral',
    fontFamily: 'inherit',
    flowchart: { useMaxWidth: false },
  });
  for (const [i, { block, text }] of sources.entries()) {
    const { svg } = await mermaid.render(`diagram-${i}`, text);
    block.innerHTML = svg;
    block.classList.add('diagram');
    // As wide as it is drawn: a narrow page scrolls it, from the keyboard too.
    block.tabIndex = 0;
    block.setAttribute('role', 'region');
    block.setAttribute('aria-label', 'Diagram');
  }
}

draw();
new MutationObserver(draw).observe(document.body, { attributeFilter: ['data-theme'] });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
