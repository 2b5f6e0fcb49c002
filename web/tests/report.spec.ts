import { readFileSync } from 'node:fs';
import AxeBuilder from '@axe-core/playwright';
import { expect, type Locator, type Page, test } from '@playwright/test';
import { HOSTILE, Reports } from './make_reports';

const reports = new Reports();

test.beforeAll(() => {
  reports.write('few.toml');
  reports.marqueue('run', 'few.toml', '--out', 'run');
  const changed = ['--set', 'topology.hops.0.aqm=pie', '--set', 'topology.hops.1.aqm=pie'];
  reports.marqueue('run', 'few.toml', ...changed, '--out', 'other');
  reports.marqueue('compare', 'run', 'other', '--out', 'compare.html');
  const over = ['--over', 'traffic.0.count=1,3,6', '--over', 'topology.hops.1.aqm=red,pie,codel', '-r', '2'];
  reports.marqueue('sweep', 'few.toml', ...over, '--out', 'sweep');
});
test.afterAll(() => reports.remove());

const chart = (page: Page, title: string | RegExp) => page.getByRole('group', { name: title, exact: true }).first();
const legend = (of: Locator) => of.locator('.mq-legend button');
const plot = (of: Locator) => of.locator('.mq-plot');
/** The range of x that is seen. */
const range = (of: Locator) => of.locator('.mq-plot').evaluate((place) => place.dataset.range);

async function opened(page: Page, name: string): Promise<string[]> {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(reports.url(name));
  return errors;
}

async function download(page: Page, of: Locator, what: string): Promise<{ name: string; bytes: Buffer }> {
  const [file] = await Promise.all([page.waitForEvent('download'), of.getByRole('button', { name: what }).click()]);
  return { name: file.suggestedFilename(), bytes: readFileSync(await file.path()) };
}

/** Axe's findings; of the dark scheme its colours alone, because nothing else differs. */
async function serious(page: Page, scheme: 'light' | 'dark'): Promise<string[]> {
  const axe = new AxeBuilder({ page });
  const { violations } = await (scheme === 'dark' ? axe.withRules('color-contrast') : axe.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 200)).join('\n')}`);
}

test('a run: the answer comes first, then figures, pictures, folded tables', async ({ page }) => {
  const errors = await opened(page, 'run/report.html');
  await expect(page.locator('.answer')).toContainText('busiest of 2 links');
  await expect(page.locator('.highlights dt')).toContainText(['Utilization', 'Loss ratio', 'Queue, mean', 'Queueing delay, mean', 'Queueing delay, p99', 'Goodput', "Jain's index"]);
  const headings = await page.locator('h2').allTextContents();
  expect(headings).toEqual(['Pictures', 'Links', 'Flows', 'Windows', 'Scenario', 'Effective settings', 'How to reproduce this']);
  await expect(page.locator('figure.static')).toBeHidden();
  await expect(page.getByRole('table').first()).toBeHidden();
  await page.getByRole('link', { name: 'Flows', exact: true }).click();
  await expect(page.locator('#flows table').first()).toBeVisible();
  expect(errors).toEqual([]);
});

test('values at the pointer, legend, choices', async ({ page }) => {
  await opened(page, 'run/report.html');
  const queue = chart(page, 'Queue');
  await expect(legend(queue)).toHaveCount(2);
  await plot(queue).hover({ position: { x: 600, y: 100 } });
  await expect(queue.locator('.mq-readout')).toContainText(/Time \[s\]: \d/);
  await expect(legend(queue).first().locator('.mq-value')).toHaveText(/^[\d.]+ \([\d.]+ to [\d.]+\)$/);
  await expect(legend(queue).last().locator('.mq-value')).toHaveText(/^[\d.]+$/);
  // The same time in the other charts over time.
  await expect(chart(page, 'Utilization in each sample').locator('.mq-readout')).toContainText(/Time \[s\]: \d/);

  // At first the busiest link is shown, which is the second.
  await page.getByRole('group', { name: 'Links' }).getByRole('checkbox').first().check();
  await expect(legend(queue)).toHaveCount(4);
  await page.getByRole('group', { name: 'Replications' }).getByRole('checkbox', { name: '3' }).check();
  await expect(legend(queue)).toHaveCount(6);
  await page.getByRole('group', { name: 'Replications' }).getByRole('checkbox', { name: 'mean' }).uncheck();
  await expect(legend(queue)).toHaveCount(4);
  const windows = chart(page, 'Windows of traced flows');
  await expect(legend(windows).first()).toContainText('cwnd, <b>long');
  const before = await legend(windows).count();
  await page.getByRole('group', { name: 'Flows' }).getByRole('checkbox').first().uncheck();
  await expect.poll(() => legend(windows).count()).toBeLessThan(before);

  await legend(queue).first().click();
  await expect(legend(queue).first()).toHaveAttribute('aria-pressed', 'false');
  await legend(queue).nth(1).click({ modifiers: ['Shift'] });
  await expect(queue.locator('.mq-legend button[aria-pressed="true"]')).toHaveCount(1);
});

test('zoom, linked axes, pan, everything again', async ({ page }) => {
  await opened(page, 'run/report.html');
  const [queue, other] = [chart(page, 'Queue'), chart(page, 'Windows of traced flows')];
  const whole = await range(queue);
  await queue.scrollIntoViewIfNeeded();
  const box = (await plot(queue).boundingBox())!;
  const drag = async (from: number, to: number) => {
    await page.mouse.move(box.x + from, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + to, box.y + 100, { steps: 5 });
    await page.mouse.up();
  };
  /** Waits until the range of both is no longer this one, and gives it. */
  const changed = async (from: string | undefined) => {
    await expect.poll(() => range(queue)).not.toBe(from);
    const to = await range(queue);
    await expect.poll(() => range(other)).toBe(to);
    return to;
  };
  await drag(300, 600);
  const zoomed = await changed(whole);
  await page.keyboard.down('Shift');
  await drag(400, 500);
  await page.keyboard.up('Shift');
  await changed(zoomed);
  await page.mouse.dblclick(box.x + 400, box.y + 100);
  await expect.poll(() => range(queue)).toBe(whole);
  await queue.getByRole('button', { name: 'Zoom in' }).click();
  await changed(whole);
  await queue.getByRole('button', { name: 'Zoom out' }).click();
  await expect.poll(() => range(queue)).toBe(whole);
  await queue.getByRole('button', { name: 'Logarithmic vertical axis' }).click();
  await expect(queue.getByRole('button', { name: 'Logarithmic vertical axis' })).toHaveAttribute('aria-pressed', 'true');
});

test('two fingers zoom and move', async ({ browser }) => {
  const context = await browser.newContext({ hasTouch: true, viewport: { width: 400, height: 900 } });
  const page = await context.newPage();
  await opened(page, 'run/report.html');
  const queue = chart(page, 'Queue');
  const whole = await range(queue);
  await queue.scrollIntoViewIfNeeded();
  const box = (await queue.locator('.u-over').boundingBox())!;
  const session = await context.newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...shares: number[]) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: shares.map((share, id) => ({ x: box.x + share * box.width, y: box.y + box.height / 2, id })),
    });
  await touch('touchStart', 0.4, 0.6);
  await touch('touchMove', 0.3, 0.7);
  await touch('touchMove', 0.2, 0.8);
  await touch('touchEnd');
  // What was between the fingers, a fifth, now takes three fifths.
  const width = async () => {
    const [from, to] = (await range(queue))!.match(/[\d.]+/g)!.map(Number);
    return to! - from!;
  };
  const [from, to] = whole!.match(/[\d.]+/g)!.map(Number);
  await expect.poll(async () => (await width()) / (to! - from!)).toBeCloseTo(1 / 3, 1);
  // The other way it ends where the series do.
  await touch('touchStart', 0.1, 0.9);
  await touch('touchMove', 0.4, 0.6);
  await touch('touchEnd');
  await expect.poll(() => range(queue)).toBe(whole);
  await context.close();
});

test('downloads hold what is drawn', async ({ page }) => {
  await opened(page, 'run/report.html');
  const queue = chart(page, 'Queue');
  const svg = await download(page, queue, 'Download as SVG');
  expect(svg.name).toBe('queue.svg');
  const problem = await page.evaluate(
    (text) => new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror')?.textContent,
    svg.bytes.toString(),
  );
  expect(problem).toBeUndefined();
  expect(svg.bytes.toString()).toContain('mean, 95% interval');
  const png = await download(page, queue, 'Download as PNG');
  expect(png.bytes.subarray(1, 4).toString()).toBe('PNG');
  // Pictures have content: a blank one is a few kB.
  expect(png.bytes.length).toBeGreaterThan(20_000);
  const csv = (await download(page, queue, 'CSV')).bytes.toString().trimEnd().split('\r\n');
  expect(csv[0]).toContain('Time [s],"mean, 95% interval: Queue [packets]"');
  expect(csv.length).toBe(1 + 300);
  expect(csv[1]).toMatch(/^0\.02,/);
});

test('with the keyboard alone', async ({ page }) => {
  await opened(page, 'run/report.html');
  const queue = chart(page, 'Queue');
  for (let i = 0; i < 60 && !(await plot(queue).evaluate((it) => it === document.activeElement)); i++) await page.keyboard.press('Tab');
  await expect(plot(queue)).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect(queue.locator('.mq-spoken')).toContainText(/Time \[s\]: 0\.\d+\. mean, 95% interval \d/);
  const whole = await range(queue);
  await page.keyboard.press('+');
  await expect.poll(() => range(queue)).not.toBe(whole);
  const zoomed = await range(queue);
  await page.keyboard.press('Shift+ArrowRight');
  await expect.poll(() => range(queue)).not.toBe(zoomed);
  await page.keyboard.press('0');
  await expect.poll(() => range(queue)).toBe(whole);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Space');
  await expect(legend(queue).last()).toHaveAttribute('aria-pressed', 'false');
});

test('a comparison lays two results over each other', async ({ page }) => {
  const errors = await opened(page, 'compare.html');
  await expect(page.locator('.answer')).toContainText(/^B, with topology.* has /);
  const queue = chart(page, 'Queue');
  await expect(legend(queue)).toHaveText([/^A/, /^B/]);
  await page.getByRole('group', { name: 'Results' }).getByRole('checkbox', { name: 'B' }).uncheck();
  await expect(legend(queue)).toHaveCount(1);
  expect(errors).toEqual([]);
});

test('a sweep: axes, heat map and Pareto front are chosen in the page', async ({ page }) => {
  const errors = await opened(page, 'sweep/report.html');
  await expect(legend(chart(page, 'Utilization, hop 1 over count'))).toHaveText([/aqm = red/, /aqm = pie/, /aqm = codel/]);
  const first = page.locator('.choices').first();
  await first.getByLabel('Vertical').selectOption({ label: 'Queueing delay, p99 [ms], hop 2' });
  await first.getByLabel('Horizontal').selectOption('aqm');
  const changed = chart(page, 'Queueing delay, p99 [ms], hop 2 over aqm');
  await expect(legend(changed)).toHaveText([/count = 1/, /count = 3/, /count = 6/]);
  const csv = (await download(page, changed, 'CSV')).bytes.toString();
  expect(csv).toContain('count = 3: Queueing delay, p99 [ms], hop 2');

  const heat = page.locator('.mq-heat');
  await expect(heat.locator('rect[data-cell]')).toHaveCount(9);
  await heat.locator('rect[data-cell]').first().focus();
  await page.keyboard.press('ArrowUp');
  await expect(page.locator('.mq-chart:has(.mq-heat) .mq-readout')).toHaveText(/count 1, aqm pie: Utilization, hop 1 /);
  const labels = () => heat.locator('rect[data-cell]').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')));
  const cells = await labels();
  await page.locator('.choices').nth(1).getByLabel('Colour').selectOption({ label: 'Loss ratio, hop 1' });
  await expect.poll(labels).not.toEqual(cells);

  const against = chart(page, /p99 \[ms\], hop 1 against Utilization/);
  await expect(legend(against).last()).toContainText('Pareto front');
  const front = (await download(page, against, 'CSV')).bytes.toString();
  expect(front).toContain('Pareto front');
  expect(errors).toEqual([]);
});

test('a million samples draw fast enough to play with, and no peak is lost', async ({ page }) => {
  reports.write('long.toml');
  const finer = ['--set', 'sample=12 us', '--set', 'traffic.0.trace=false', '-r', '1', '--out', 'long'];
  reports.marqueue('run', 'long.toml', ...finer);
  expect(reports.read('long/report.html').length).toBeLessThan(3e6);
  const errors = await opened(page, 'long/report.html');
  const queue = chart(page, 'Queue');
  await expect(legend(queue)).toHaveCount(1);
  const csv = (await download(page, queue, 'CSV')).bytes.toString();
  expect(csv).toMatch(/^# Thinned for this page: \d+ of 1000000 samples/);
  const shown = Math.max(...csv.trimEnd().split('\r\n').slice(2).map((line) => Number(line.split(',')[1])));
  const table = page.locator('#links th', { hasText: 'Queue, p99' }).locator('xpath=../td').first();
  expect(shown).toBeGreaterThanOrEqual(Number(await table.textContent()));
  expect(errors).toEqual([]);
});

test('without scripts: tables and one static picture', async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  for (const name of ['run/report.html', 'sweep/report.html', 'compare.html']) {
    await page.goto(reports.url(name));
    await expect(page.locator('svg.picture')).toHaveCount(1);
    await expect(page.locator('svg.picture')).toBeVisible();
    await page.locator('details.section > summary').first().click();
    await expect(page.getByRole('table').first()).toBeVisible();
  }
  await context.close();
});

test('corrupt data are said to be so', async ({ page }) => {
  const corrupt: Record<string, (page: string) => string> = {
    'flipped.html': (text) => text.replace('"title":"Queue"', '"title":"Quiue"'),
    'cut.html': (text) => text.replace(/(<script type="application\/json".*?>).*?<\/script>/, '$1{"groups":[</script>'),
    'none.html': (text) => text.replace(/<script type="application\/json".*?<\/script>/, ''),
  };
  for (const [name, change] of Object.entries(corrupt)) {
    reports.change('run/report.html', name, change);
    await page.goto(reports.url(name));
    await expect(page.getByRole('alert')).toContainText('The data of this report are corrupt');
    await expect(page.locator('svg.picture')).toBeVisible();
    await expect(page.locator('.mq-chart')).toHaveCount(0);
  }
});

test('hostile names are text, and no other script may run', async ({ page }) => {
  await opened(page, 'run/report.html');
  await expect(page).toHaveTitle(HOSTILE);
  await expect(page.locator('h1')).toHaveText(HOSTILE);
  await expect(page.locator('img')).toHaveCount(0);
  reports.change('run/report.html', 'injected.html', (text) => text.replace('<main>', '<main><script>document.title = "taken"</script>'));
  await page.goto(reports.url('injected.html'));
  await expect(page).toHaveTitle(HOSTILE);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`no serious findings of axe, 400 px wide without a sideways scroll: ${colorScheme}`, async ({ browser }) => {
    const context = await browser.newContext({ colorScheme, viewport: { width: 400, height: 800 } });
    const page = await context.newPage();
    for (const name of ['run/report.html', 'sweep/report.html', 'compare.html']) {
      await page.goto(reports.url(name));
      await page.evaluate(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(400);
      expect(await serious(page, colorScheme), name).toEqual([]);
    }
    await context.close();
  });
}

test('paper has light colours and everything unfolded', async ({ browser }) => {
  const context = await browser.newContext({ colorScheme: 'dark' });
  const page = await context.newPage();
  await page.goto(reports.url('run/report.html'));
  const ink = () => page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--mq-ink').trim());
  const dark = await ink();
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await expect.poll(ink).not.toBe(dark);
  await expect(page.locator('details:not([open])')).toHaveCount(0);
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  await expect.poll(ink).toBe(dark);
  await expect(page.locator('details.section[open]')).toHaveCount(0);
  await context.close();
});
