import { readFile } from 'node:fs/promises';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { compilerLoaded, ended, expect, settled, test, toml } from './lab/served';

/** A figure of the tiles, as text. */
const tile = (page: Page, name: string) => page.locator('.tiles > div', { hasText: name }).locator('dd');

async function fragment(page: Page, text: string): Promise<string> {
  return page.evaluate(async (content) => {
    const packed = new Blob([content]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
    const binary = Array.from(bytes, (each) => String.fromCharCode(each)).join('');
    return `#s=${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
  }, text);
}

async function downloaded(page: Page, value: string): Promise<Buffer> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByLabel('Save as', { exact: true }).selectOption(value)]);
  return readFile(await download.path());
}

/** Axe's findings; of the dark scheme its colours alone, because nothing else differs. */
async function noSeriousFindings(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  const axe = new AxeBuilder({ page });
  const { violations } = await (scheme === 'dark' ? axe.withRules('color-contrast') : axe).analyze();
  const serious = violations.filter((each) => each.impact === 'serious' || each.impact === 'critical');
  expect(serious.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(' ')).join('; ')}`)).toEqual([]);
}

test('the first example runs at once, without the compiler', async ({ lab }) => {
  await expect(lab.locator('.mq-chart').first()).toBeVisible();
  await expect(tile(lab, 'Utilization')).toContainText('%');
  await expect(lab.getByTestId('time')).toHaveText(/^6 s of 6 s$/);
});

test('a slider runs again, and the old curve stays as a ghost', async ({ edited: lab }) => {
  const before = await tile(lab, 'Mean queue').textContent();
  await lab.getByLabel('rate', { exact: true }).first().fill('250');
  await ended(lab);
  await expect(tile(lab, 'Mean queue')).not.toHaveText(before!);
  await expect(lab.getByRole('button', { name: 'before', exact: true }).first()).toBeVisible();
  expect(await toml(lab)).not.toContain('rate = "20 Mbit/s"');
});

test('run, pause, step and speed', async ({ lab }) => {
  // At this speed the run takes five minutes: it cannot end before it is paused.
  await lab.getByRole('button', { name: '×1/50', exact: true }).click();
  await lab.getByRole('button', { name: 'Restart' }).click();
  await lab.getByRole('button', { name: 'Pause' }).click();
  await expect(lab.getByRole('button', { name: 'Go on' })).toBeVisible();
  await settled(lab);
  const now = async () => parseFloat((await lab.getByTestId('time').textContent())!);
  const before = await now();
  // What is seen of a run that is paused may still come from its last turn; a step is a hundredth of the run, 0.06 s.
  for (let i = 0; i < 5; i++) await lab.getByRole('button', { name: 'Step' }).click();
  await expect.poll(now).toBeGreaterThan(before + 0.05);
  await lab.getByRole('button', { name: 'max' }).click();
  await lab.getByRole('button', { name: 'Go on' }).click();
  await ended(lab);
});

test('two AQMs over each other and side by side', async ({ edited: lab }) => {
  await lab.getByLabel('AQM beside it').selectOption('codel');
  const table = lab.getByRole('table');
  await expect(table.getByRole('columnheader', { name: 'codel' })).toBeVisible();
  await expect(table.getByRole('columnheader', { name: 'avq' })).toBeVisible();
  await lab.getByRole('button', { name: 'Side by side' }).click();
  await expect(lab.getByRole('heading', { name: 'codel' })).toBeVisible();
  await lab.getByLabel('AQM beside it').selectOption('');
  await ended(lab);
});

test('packets are drawn', async ({ lab }) => {
  await lab.getByRole('button', { name: 'Packets', exact: true }).click();
  const canvas = lab.locator('figure canvas');
  const colours = () =>
    canvas.evaluate((element: HTMLCanvasElement) => {
      const { data } = element.getContext('2d')!.getImageData(0, 0, element.width, element.height);
      const seen = new Set<string>();
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      return ['0,114,178', '213,94,0', '0,138,100', '170,68,153'].filter((each) => seen.has(each)).length;
    });
  await expect.poll(colours).toBeGreaterThan(1);
});

test('all charts, the network, and another example', async ({ lab }) => {
  const shows = lab.getByRole('group', { name: 'What is shown' });
  for (const name of ['Rates', 'Utilization', 'Marks', 'Drops', 'virtual queue']) {
    await shows.getByRole('button', { name, exact: true }).click();
    await expect(lab.locator('.mq-title', { hasText: new RegExp(`^${name}$`) })).toBeVisible();
  }
  await shows.getByRole('button', { name: 'Network' }).click();
  await expect(lab.getByLabel(/^Network:/)).toBeHidden();
  await lab.getByRole('button', { name: /^All \d+/ }).click();
  await lab.getByRole('dialog').getByRole('button', { name: /Experiment 6/ }).click();
  await expect(lab.getByRole('heading', { level: 2, name: /Experiment 6/ })).toBeVisible();
  await ended(lab);
});

test('the form changes the text and keeps its comments; the text changes the form', async ({ edited: lab }) => {
  await lab.getByRole('tab', { name: 'Form' }).click();
  await lab.getByLabel('duration', { exact: true }).fill('3');
  await lab.getByLabel('duration', { exact: true }).press('Tab');
  await expect(lab.getByTestId('time')).toHaveText(/of 3 s$/);
  const text = await toml(lab);
  expect(text).toContain('duration = "3 s"');
  expect(text).toMatch(/^# /);
  await lab.getByLabel('Scenario in TOML').fill(text.replace('duration = "3 s"', 'duration = "4 s"'));
  await expect(lab.getByTestId('time')).toHaveText(/of 4 s$/);
  await lab.getByRole('tab', { name: 'Form' }).click();
  await expect(lab.getByLabel('duration', { exact: true })).toHaveValue('4');
});

test('a mistake has the message of the command at its field and its line', async ({ edited: lab }) => {
  const message = 'got "a few", expected a buffer such as "100 packets" or "150 kB"';
  const text = await toml(lab);
  await lab.getByLabel('Scenario in TOML').fill(text.replace('buffer = "100 packets"', 'buffer = "a few"'));
  const line = text.split('\n').findIndex((each) => each.startsWith('buffer')) + 1;
  await expect(lab.getByRole('button', { name: `Line ${line}` })).toContainText(message);
  await lab.getByRole('tab', { name: 'Form' }).click();
  await expect(lab.locator('.field', { hasText: message }).getByLabel('buffer')).toHaveAttribute('aria-invalid', 'true');
});

test('a text that is no TOML says where, and mends', async ({ edited: lab }) => {
  const text = await toml(lab);
  await lab.getByLabel('Scenario in TOML').fill(`${text}\nrate = = 1\n`);
  await expect(lab.locator('#toml-problems')).toContainText('not TOML');
  await expect(lab.locator('#toml-problems')).toContainText(`Line ${text.split('\n').length + 1}`);
  await lab.getByRole('tab', { name: 'Sliders' }).click();
  await expect(lab.getByText('The text is not TOML')).toBeVisible();
  await lab.getByRole('tab', { name: 'TOML' }).click();
  await lab.getByLabel('Scenario in TOML').fill(text);
  await expect(lab.getByText('No mistakes.')).toBeVisible();
});

test('a shared link opens the same scenario', async ({ edited: lab }) => {
  await lab.getByLabel('rate', { exact: true }).first().fill('700');
  await ended(lab);
  const text = await toml(lab);
  await lab.getByRole('button', { name: 'Share', exact: true }).click();
  const link = await lab.getByLabel('Link to this scenario').inputValue();
  expect(link).toContain('#s=');
  const other = await lab.context().newPage();
  await other.goto(link);
  await ended(other);
  expect(await toml(other)).toBe(text);
  const figures = await lab.locator('.tiles dd').allTextContents();
  expect(await other.locator('.tiles dd').allTextContents()).toEqual(figures);
  await other.close();
});

test('a broken link says so, and the first example runs', async ({ page, served }) => {
  await page.goto(`${served.url}#s=abc~def`);
  await expect(page.getByRole('alert')).toContainText('the link is broken, expected one that Share made');
  await ended(page);
});

test('a link that unpacks to far more than a scenario is refused', async ({ lab, served }) => {
  const bomb = await fragment(lab, '#'.repeat(5_000_000));
  const page = await lab.context().newPage();
  await page.goto(`${served.url}${bomb}`);
  await expect(page.getByRole('alert')).toContainText('the link is broken');
});

test('no script of a hostile link runs', async ({ lab, served, problems }) => {
  const attack = `<img src=x onerror="window.owned=1"><script>window.owned=1</script>`;
  const text = [
    `name = '${attack}'`, 'duration = "2 s"', '[topology]', 'kind = "graph"',
    `links = [{ name = '${attack}', from = "a", to = "b", rate = "2 Mbit/s", delay = "5 ms", buffer = "20 packets" }]`,
    '[[topology.classes]]', `name = '${attack}'`, 'from = "a"', 'to = "b"',
    '[[traffic]]', `name = '<svg onload=window.owned=1>'`, 'kind = "tcp"', `[traffic.'${attack}']`,
  ].join('\n');
  const page = await lab.context().newPage();
  page.on('dialog', (dialog) => problems.push(dialog.message()));
  // The second is a scenario that runs, and opens in the page that has the compiler.
  for (const hostile of [text, text.replace(/\n\[traffic\..*$/, '')]) {
    await page.goto(`${served.url}${await fragment(lab, hostile)}`);
    await compilerLoaded(page);
    await expect.poll(() => toml(page)).toBe(hostile);
    await expect(page.getByText(attack).first()).toBeVisible();
    for (const tab of ['Form', 'TOML', 'Sliders']) await page.getByRole('tab', { name: tab }).click();
    if (hostile !== text) await ended(page);
    expect(await page.evaluate(() => 'owned' in window)).toBe(false);
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  }
});

test('a script that is written into the page does not run', async ({ page, served }) => {
  await page.goto(served.url);
  await ended(page);
  const ran = await page.evaluate(() => {
    document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="window.owned = 1">');
    const script = document.createElement('script');
    script.textContent = 'window.owned = 1';
    document.body.append(script);
    return 'owned' in window;
  });
  expect(ran).toBe(false);
});

test('files: TOML, Python, CSV and PNG out, TOML in', async ({ edited: lab }) => {
  const text = (await downloaded(lab, 'toml')).toString();
  expect(text).toBe(await toml(lab));
  expect((await downloaded(lab, 'py')).toString()).toContain('from marqueue import');
  const csv = (await downloaded(lab, 'csv')).toString().split('\n');
  expect(csv[0]).toBe('run,subject,quantity,time_s,value');
  expect(csv.filter((line) => line.startsWith('avq,bottleneck,queue,')).length).toBeGreaterThan(1000);
  expect((await downloaded(lab, 'png')).subarray(1, 4).toString()).toBe('PNG');
  await lab.getByLabel('Scenario file').setInputFiles({ name: 'mine.toml', mimeType: 'text/plain', buffer: Buffer.from(text.replace('Dumbbell under AVQ', 'Mine')) });
  await expect(lab.getByRole('heading', { name: 'Mine' })).toBeVisible();
  await ended(lab);
});

test('a run that would not fit memory is refused before it starts', async ({ edited: lab }) => {
  const text = await toml(lab);
  await lab.getByLabel('Scenario in TOML').fill(`${text}${['b', 'c', 'd'].map((name) => `[[traffic]]\nname = "${name}"\nkind = "tcp"\ncount = 1000000\n`).join('')}`);
  await expect(lab.getByRole('alert').filter({ hasText: 'expected at most 1.5 GB' })).toBeVisible();
});

test('theory is drawn over the packets, and the point of the stability map moves both', async ({ edited: lab }) => {
  await lab.getByRole('button', { name: 'PI and its fluid model' }).click();
  await lab.getByRole('button', { name: 'Theory', exact: true }).click();
  const theory = lab.getByRole('region', { name: 'Theory' });
  await expect(theory.getByText('stable', { exact: true })).toBeVisible();
  await expect(theory.getByLabel('Nyquist curve of the open loop')).toBeVisible();
  await expect(lab.getByRole('button', { name: 'fluid model' }).first()).toBeVisible();
  await expect(theory.locator('svg rect title')).toHaveCount(15 * 15);
  const point = theory.getByRole('slider');
  const before = await point.getAttribute('aria-valuetext');
  for (let i = 0; i < 4; i++) {
    await settled(lab);
    await point.press('ArrowLeft');
  }
  await expect(point).not.toHaveAttribute('aria-valuetext', before!);
  expect(await toml(lab)).not.toContain('count = 60');
  await lab.getByRole('button', { name: 'Theory', exact: true }).click();
});

test('a scenario outside the model says why there is no theory', async ({ edited: lab }) => {
  await lab.getByRole('button', { name: 'Theory', exact: true }).click();
  await expect(lab.getByRole('region', { name: 'Theory' })).toContainText('outside the fluid model');
  await lab.getByRole('button', { name: 'Theory', exact: true }).click();
});

test('everything is reached with the keyboard', async ({ edited: lab }) => {
  await lab.getByRole('tab', { name: 'Sliders' }).focus();
  await lab.keyboard.press('ArrowRight');
  await expect(lab.getByRole('tab', { name: 'Form' })).toHaveAttribute('aria-selected', 'true');
  await lab.keyboard.press('ArrowLeft');
  const slider = lab.getByLabel('delay', { exact: true }).first();
  await slider.focus();
  const before = await slider.inputValue();
  await lab.keyboard.press('ArrowRight');
  await expect(slider).not.toHaveValue(before);
  // While a run goes on, the button "Run again" is "Pause".
  await ended(lab);
  await expect(lab.getByText('before', { exact: true }).first()).toBeVisible();
  const reached = new Set<string>();
  await lab.getByRole('button', { name: 'Open file' }).focus();
  for (let i = 0; i < 60; i++) {
    await lab.keyboard.press('Tab');
    reached.add(await lab.evaluate(() => document.activeElement?.textContent?.trim().slice(0, 20) || document.activeElement?.tagName || ''));
  }
  for (const name of ['Share', 'Run again', 'Restart', 'Packets', 'Theory', 'Queue']) expect(reached).toContain(name);
});

test('axe finds nothing serious, light and dark', async ({ edited: lab }) => {
  for (const scheme of ['light', 'dark'] as const) {
    await lab.emulateMedia({ colorScheme: scheme });
    for (const tab of ['Sliders', 'Form', 'TOML']) {
      await lab.getByRole('tab', { name: tab }).click();
      await noSeriousFindings(lab, scheme);
    }
  }
  await lab.emulateMedia({ colorScheme: null });
});

test('400 px wide: nothing is cut off', async ({ page, served }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  await page.goto(served.url);
  await ended(page);
  const wider = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(await wider()).toBe(0);
  await page.getByRole('button', { name: 'Change' }).click();
  await expect(page.getByRole('tab', { name: 'Form' })).toBeVisible();
  for (const tab of ['Form', 'TOML', 'Sliders']) {
    await page.getByRole('tab', { name: tab }).click();
    expect(await wider()).toBe(0);
  }
});
