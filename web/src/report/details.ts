/** Opens the section that the address points to, now and after each click on the contents. */
export function openTarget(): void {
  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const section = id ? document.getElementById(id) : null;
    const details = section?.querySelector<HTMLDetailsElement>('details.section');
    if (details) details.open = true;
  };
  addEventListener('hashchange', open);
  open();
}

/** Paper has everything: opens what is folded before printing, and folds it afterwards. */
export function openForPrint(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>('details:not([open])')];
    opened.forEach((each) => (each.open = true));
  });
  addEventListener('afterprint', () => opened.forEach((each) => (each.open = false)));
}
