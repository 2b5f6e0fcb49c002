// The lab as `marqueue lab` serves it, with its security policy, over a folder that each test can fill.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type Page, test as base } from '@playwright/test';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const VENV = join(ROOT, '.venv/bin/python');
const PYTHON = process.env.PYTHON ?? (existsSync(VENV) ? VENV : 'python3');
const ENV = { ...process.env, PYTHONPATH: join(ROOT, 'python') };

export interface Served { url: string; folder: string }

/** Runs a command of marqueue to its end. */
export function marqueue(cwd: string, ...words: string[]): Promise<void> {
  const child = spawn(PYTHON, ['-m', 'marqueue', ...words], { cwd, env: ENV, stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise((resolve, reject) => {
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`marqueue ${words.join(' ')}: exit ${code}`))));
  });
}

async function start(folder: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(PYTHON, ['-u', '-m', 'marqueue', 'lab', folder, '--no-browser'], { env: ENV, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (data: Buffer) => {
      said += data.toString();
      const found = /http:\S+/.exec(said);
      if (found) resolve(found[0]);
    });
    child.on('exit', () => reject(new Error(`marqueue lab has ended: ${said}`)));
  });
  return { child, url };
}

interface Fixtures { lab: Page; edited: Page; problems: string[] }
interface Shared { served: Served; loaded: { page: Page; problems: string[] } }

/**
 * `lab` is a page with the lab, whose first run has ended; `problems` is what the browser complained about.
 * `edited` is the same for tests that change the scenario: they share a page, because the compiler takes seconds to load.
 */
export const test = base.extend<Fixtures, Shared>({
  served: [
    async ({}, use) => {
      const folder = await mkdtemp(join(tmpdir(), 'marqueue-lab-'));
      const { child, url } = await start(folder);
      await use({ url, folder });
      child.kill('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
    { scope: 'worker' },
  ],
  loaded: [
    async ({ browser, served }, use) => {
      const context = await browser.newContext({ viewport: { width: 1300, height: 900 }, acceptDownloads: true });
      const page = await context.newPage();
      const problems = problemsOf(page);
      await page.goto(served.url);
      await compilerLoaded(page);
      await use({ page, problems });
      await context.close();
    },
    { scope: 'worker' },
  ],
  edited: async ({ loaded: { page, problems } }, use) => {
    await page.getByRole('tab', { name: 'Sliders' }).click();
    // The other scenario in between shows that the first one is opened anew.
    for (const name of ['First', 'Dumbbell under AVQ']) {
      await page.getByRole('navigation', { name: 'Examples' }).getByRole('button', { name, exact: true }).click();
      await expect(page.getByRole('heading', { level: 2, name, exact: true })).toBeVisible();
      await ended(page);
    }
    await use(page);
    expect(problems).toEqual([]);
  },
  problems: async ({ page }, use) => use(problemsOf(page)),
  lab: async ({ page, served, problems }, use) => {
    await page.goto(served.url);
    await ended(page);
    await use(page);
    expect(problems).toEqual([]);
  },
});

/** What the browser complains about from now on. */
function problemsOf(page: Page): string[] {
  const problems: string[] = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  return problems;
}

/** Waits until nothing changes any more: the text is compiled, its run has ended or is paused, the charts show it. */
export async function settled(page: Page): Promise<void> {
  await expect(page.getByRole('region', { name: 'Simulation', includeHidden: true })).toHaveAttribute('data-busy', 'false');
}

/** Waits until the run of the scenario of now has ended. "Run again" alone would also be seen before it begins. */
export async function ended(page: Page): Promise<void> {
  await settled(page);
  await expect(page.getByRole('button', { name: 'Run again', includeHidden: true })).toHaveCount(1);
  await expect(page.getByText('Utilization', { exact: true }).first()).toBeAttached();
}

/** Waits until changes take effect. */
export async function compilerLoaded(page: Page): Promise<void> {
  await expect(page.getByRole('tab', { name: 'TOML' })).toBeVisible();
  await expect(page.getByText('compiler is being loaded')).toBeHidden();
}

/** The text of the scenario. The TOML tab is then open. */
export async function toml(page: Page): Promise<string> {
  await page.getByRole('tab', { name: 'TOML' }).click();
  return page.getByLabel('Scenario in TOML').inputValue();
}

export { expect };
