// The lab as `make lab-site` copies it: files under a path of a server that knows nothing of it.
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@playwright/test';
import { serve } from './engine/server';
import { compilerLoaded, ended, toml } from './lab/served';

let server: Server;
let url: string;

test.beforeAll(async () => {
  ({ server, url } = await serve(fileURLToPath(new URL('../built', import.meta.url)), {}));
});
test.afterAll(() => void server.close());

test('static files: open, run, slider, share, save; nothing from elsewhere', async ({ page, context }) => {
  const problems: string[] = [];
  context.on('request', (request) => request.url().startsWith(url) || /^(blob|data):/.test(request.url()) || problems.push(request.url()));
  context.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  context.on('weberror', (error) => problems.push(error.error().message));
  await page.goto(`${url}lab/`);
  await ended(page);
  await compilerLoaded(page);
  await expect(page.getByRole('button', { name: 'Results' })).toHaveCount(0);
  const queue = page.locator('.tiles > div', { hasText: 'Mean queue' }).locator('dd');
  const before = await queue.textContent();
  await page.getByLabel('rate', { exact: true }).first().fill('250');
  await ended(page);
  await expect(queue).not.toHaveText(before!);
  const [saved] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Save as', { exact: true }).selectOption('toml')]);
  expect(await readFile(await saved.path(), 'utf8')).toBe(await toml(page));
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const link = await page.getByLabel('Link to this scenario').inputValue();
  expect(link.startsWith(`${url}lab/#s=`)).toBe(true);
  const other = await context.newPage();
  await other.goto(link);
  await ended(other);
  expect(await toml(other)).toBe(await toml(page));
  expect(await other.locator('.tiles dd').allTextContents()).toEqual(await page.locator('.tiles dd').allTextContents());
  expect(problems).toEqual([]);
});

test('a browser that saves data loads the compiler with the first change', async ({ page }) => {
  const compiler: string[] = [];
  page.on('request', (request) => request.url().includes('/lab/compiler/') && compiler.push(request.url()));
  await page.addInitScript(() => Object.defineProperty(navigator, 'connection', { value: { saveData: true } }));
  await page.goto(`${url}lab/`);
  await ended(page);
  await expect(page.getByText('is loaded when you change something')).toBeVisible();
  expect(compiler).toEqual([]);
  await page.getByLabel('rate', { exact: true }).first().fill('250');
  await ended(page);
  expect(compiler.length).toBeGreaterThan(0);
});
