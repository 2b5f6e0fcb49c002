// The lab in a page begins when a reader opens it. A frame in closed details, even a lazy one, would be loaded with the
// page, and would start a simulation and a download of megabytes.
for (const details of document.querySelectorAll('details.lab')) {
  details.addEventListener('toggle', () => {
    const frame = details.querySelector('iframe');
    // From files browsers load no modules: what is said above the frame remains.
    if (!details.open || !frame.hidden || location.protocol === 'file:') return;
    frame.src = frame.dataset.src;
    frame.hidden = false;
  });
}
