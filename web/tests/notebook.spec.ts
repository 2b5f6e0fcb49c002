import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, type Page, test } from '@playwright/test';

const PYTHON = resolve(process.env.MARQUEUE_PYTHON ?? '../.venv/bin/python');
const SCRIPT = readFileSync('built/notebook/notebook.js', 'utf-8');
const STYLE = readFileSync('built/notebook/notebook.css', 'utf-8');

/** What the widget of a lab in Python would send. */
const LAB = `
import json
from marqueue import Lab, load
lab = Lab(
    load("../scenarios/first.toml", ["duration=4 s", "warmup=1 s"]),
    {"topology.bottleneck.aqm": ["codel", "pie"], "topology.bottleneck.rate": ("2 Mbit/s", "20 Mbit/s")},
)
names = ("data", "controls", "values", "summary", "problem")
print(json.dumps({name: getattr(lab, name) for name in names}))
`;
let traits: Record<string, unknown>;

test.beforeAll(() => {
  traits = JSON.parse(execFileSync(PYTHON, ['-c', LAB], { encoding: 'utf-8', maxBuffer: 1 << 26 })) as typeof traits;
});

/** Draws the widget with a stand-in for anywidget's model, which keeps what is saved in `saved`. */
async function draw(page: Page, given: Record<string, unknown>): Promise<void> {
  await page.setContent(`<!doctype html><html lang="en"><title>Notebook</title><style>${STYLE}</style><main></main>`);
  await page.evaluate(
    async ([script, start]) => {
      const values = { ...start };
      const handlers: Record<string, (() => void)[]> = {};
      const model = {
        get: (name: string) => values[name],
        set: (name: string, value: unknown) => void (values[name] = value),
        save_changes: () => Object.assign(window, { saved: values.values }),
        on: (event: string, handler: () => void) => (handlers[event] ??= []).push(handler),
        off: () => undefined,
      };
      const say = (name: string, value: unknown): void => {
        values[name] = value;
        handlers[`change:${name}`]?.forEach((handler) => handler());
      };
      const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
      const widget = ((await import(address)) as { default: { render(given: object): void } }).default;
      widget.render({ model, el: document.querySelector('main')! });
      Object.assign(window, { say });
    },
    [SCRIPT, given] as const,
  );
}

const saved = (page: Page): Promise<unknown> => page.evaluate('window.saved');

test('a result has its charts and no controls', async ({ page }) => {
  await draw(page, { data: traits.data });
  await expect(page.locator('.mq-chart').first()).toBeVisible();
  await expect(page.locator('.marqueue-controls')).toHaveCount(0);
});

test('a control that is moved is told to the kernel as a value of the scenario', async ({ page }) => {
  await draw(page, traits);
  await page.getByLabel('topology.bottleneck.aqm').selectOption('pie');
  await expect.poll(() => saved(page)).toEqual({ 'topology.bottleneck.aqm': 'pie' });
  const slider = page.getByRole('slider');
  await slider.focus();
  await page.keyboard.press('End');
  await expect.poll(() => saved(page)).toEqual({ 'topology.bottleneck.aqm': 'pie', 'topology.bottleneck.rate': '20 Mbit/s' });
  await expect(page.locator('output')).toHaveText('20 Mbit/s');
});

test('a new result replaces the charts, a problem is said', async ({ page }) => {
  await draw(page, traits);
  await expect.poll(() => page.locator('.mq-chart').count()).toBeGreaterThan(3);
  const charts = await page.locator('.mq-chart').count();
  await page.evaluate((data) => (window as never as { say: (n: string, v: unknown) => void }).say('data', data), traits.data);
  await expect(page.locator('.mq-chart')).toHaveCount(charts);
  await page.evaluate(() =>
    (window as never as { say: (n: string, v: unknown) => void }).say('problem', '<b>rate</b>: expected more'),
  );
  await expect(page.getByRole('alert')).toHaveText('<b>rate</b>: expected more');
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds nothing serious (${colorScheme})`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 400, height: 900 });
    await draw(page, traits);
    await expect(page.locator('.mq-chart').first()).toBeVisible();
    const { violations } = await new AxeBuilder({ page }).analyze();
    expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    await page.screenshot({ path: `test-results/notebook-${colorScheme}.png` });
  });
}
