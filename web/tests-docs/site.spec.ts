// The documentation as `make docs` has built it, opened as files: no server, and no network.
import AxeBuilder from '@axe-core/playwright';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import { serve } from '../tests/engine/server';

const SITE = new URL('../../target/site/', import.meta.url);
/** A page of each kind. */
const PAGES = [
  'ARCHITECTURE', 'docs/index', 'docs/tutorial', 'docs/howto/access-link', 'docs/notebooks/first-steps', 'docs/notebooks/compare-aqms',
  'docs/reference/commands', 'docs/aqm/codel', 'docs/theory/fluid', 'docs/validation',
  ...['README', 'avq', 'chokew', 'drq', 'mkc', 'small-buffer'].map((name) => `docs/papers/${name}`),
];

test.use({ offline: true });

for (const name of PAGES) {
  test(name, async ({ page }) => {
    const elsewhere: string[] = [];
    page.on('request', (request) => request.url().startsWith('file:') || request.url().startsWith('data:') || elsewhere.push(request.url()));
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(new URL(`${name}.html`, SITE).href);
    await expect(page.locator('.highlight-mermaid:not(.diagram)')).toHaveCount(0);
    for (const width of [1300, 400]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), `${width} px wide`).toBe(0);
      const broken = await page.evaluate(() => Array.from(document.images).filter((each) => each.complete && !each.naturalWidth).map((each) => each.src));
      expect(broken).toEqual([]);
    }
    // Once, where more parts scroll. Styles are those of the page: axe cannot fetch them again from files.
    const { violations } = await new AxeBuilder({ page }).options({ preload: false }).analyze();
    const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join('\n')}`)).toEqual([]);
    expect(errors).toEqual([]);
    expect(elsewhere).toEqual([]);
  });
}

test('diagrams are drawn, and again in the dark', async ({ page }) => {
  await page.setViewportSize({ width: 1300, height: 900 });
  await page.goto(new URL('ARCHITECTURE.html', SITE).href);
  const diagrams = page.getByRole('region', { name: 'Diagram' });
  await expect(diagrams.locator('svg')).toHaveCount(2);
  await expect(diagrams.first()).toContainText('a packet enters a link');
  const light = await diagrams.first().innerHTML();
  await page.evaluate(() => (document.body.dataset.theme = 'dark'));
  await expect.poll(() => diagrams.first().innerHTML()).not.toBe(light);
});

test('the lab of an AQM is loaded once a reader opens it, from a server', async ({ browser }) => {
  const { server, url } = await serve(fileURLToPath(SITE), {});
  const context = await browser.newContext({ offline: false, viewport: { width: 1300, height: 900 } });
  for (const [site, loads] of [[url, true], [SITE.href, false]] as const) {
    const page = await context.newPage();
    const loaded: string[] = [];
    page.on('request', (request) => request.url().includes('/lab/') && loaded.push(request.url()));
    await page.goto(new URL('docs/aqm/codel.html', site).href);
    await page.waitForLoadState('networkidle');
    expect(loaded).toEqual([]);
    await page.getByText('Run it on this page').click();
    await expect(page.getByText('Browsers start it only from a web server')).toBeVisible();
    const frame = page.locator('details.lab iframe');
    if (loads) await expect(frame.contentFrame().getByRole('navigation', { name: 'Examples' })).toBeVisible();
    else await expect(frame).toBeHidden();
    expect(loaded.length > 0).toBe(loads);
  }
  await context.close();
  server.close();
});

test('what scrolls sideways is reached with the keyboard', async ({ page }) => {
  await page.setViewportSize({ width: 400, height: 900 });
  await page.goto(new URL('docs/papers/avq.html', SITE).href);
  const table = page.getByRole('group', { name: 'Table, scrolls sideways' }).first();
  await table.focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => table.evaluate((part) => part.scrollLeft)).toBeGreaterThan(0);
});
