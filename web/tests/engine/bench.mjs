// node bench.mjs URL: runs plans in Chromium on the page at URL. A line of standard input is {plan, seed, sampleStep}; it
// is answered by a line {packets, cpu, wall}: s of the run in its worker, set-up and loading excluded. `cpu` is that of the
// worker's thread, which does not count what the browser compiles in others.
import fs from 'node:fs';
import readline from 'node:readline';
import { chromium } from '@playwright/test';

/** CPU time so far of the worker threads of our browser, s. */
function cpu() {
  const seconds = [];
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOurs(name))) {
    for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
      const of = `/proc/${pid}/task/${thread}`;
      if (!fs.readFileSync(`${of}/comm`, 'utf8').startsWith('DedicatedWorker')) continue;
      seconds.push(Number(fs.readFileSync(`${of}/schedstat`, 'utf8').split(' ')[0]) / 1e9);
    }
  }
  if (seconds.length !== 1) throw new Error(`expected one worker, found ${seconds.length}`);
  return seconds[0];
}

/** Does a process descend from this one? */
function isOurs(pid) {
  for (let here = pid; here !== '0'; ) {
    if (here === String(process.pid)) return true;
    try {
      here = /^PPid:\s*(\d+)/m.exec(fs.readFileSync(`/proc/${here}/status`, 'utf8'))?.[1] ?? '0';
    } catch {
      return false;
    }
  }
  return false;
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
for await (const line of readline.createInterface({ input: process.stdin })) {
  const page = await browser.newPage();
  await page.goto(process.argv[2]);
  const simulation = await page.evaluateHandle(
    ({ plan, seed, sampleStep }) => window.engine.Simulation.start(plan, seed, { sampleStep }),
    JSON.parse(line),
  );
  const before = cpu();
  const { packets, wall } = await simulation.evaluate(async (simulation) => {
    const began = performance.now();
    const packets = await new Promise((resolve, reject) => {
      simulation.onError = (message) => reject(new Error(message));
      simulation.onUpdate = (update) => update.finished && resolve(update.packets);
      simulation.run('max');
    });
    return { packets, wall: (performance.now() - began) / 1000 };
  });
  console.log(JSON.stringify({ packets, wall, cpu: cpu() - before }));
  await page.close();
}
await browser.close();
