import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { compilerLoaded, ended, expect, marqueue, test } from './lab/served';

const SCENARIO = `name = "Small"
duration = "2 s"
replications = 2
[topology]
kind = "dumbbell"
rtts = ["40 ms"]
[topology.bottleneck]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
[[traffic]]
kind = "tcp"
count = 2
`;

test.beforeAll(async ({ served }) => {
  await writeFile(join(served.folder, 'small.toml'), SCENARIO);
  await marqueue(served.folder, 'run', 'small.toml', '--out', 'droptail');
  await marqueue(served.folder, 'run', 'small.toml', '--out', 'codel', '--set', 'topology.bottleneck.aqm=codel');
  await mkdir(join(served.folder, 'damaged'));
  await writeFile(join(served.folder, 'damaged', 'provenance.json'), '{}');
});

test('results are listed, filtered, compared, opened and run again', async ({ lab, served }) => {
  await compilerLoaded(lab);
  await lab.getByRole('button', { name: 'Results' }).click();
  await expect(lab.getByText('3 of 3 results')).toBeVisible();
  await expect(lab.getByRole('row', { name: /damaged/ })).toContainText('does not end with a digest');
  await lab.getByLabel('Filter').fill('aqm.name=codel');
  await expect(lab.getByText('1 of 3 results')).toBeVisible();
  // Whole words.
  for (const none of ['aqm.name=cod', 'rate="20 Mbit/s"', 'count=22']) {
    await lab.getByLabel('Filter').fill(none);
    await expect(lab.getByText('0 of 3 results')).toBeVisible();
  }
  await lab.getByLabel('Filter').fill('rate="2 mbit/s" count=2 codel');
  await expect(lab.getByText('1 of 3 results')).toBeVisible();
  await lab.getByLabel('Filter').fill('');
  const { violations } = await new AxeBuilder({ page: lab }).analyze();
  expect(violations.filter((each) => each.impact === 'serious' || each.impact === 'critical').map((each) => each.id)).toEqual([]);

  await lab.getByLabel('Compare droptail').check();
  await lab.getByLabel('Compare codel').check();
  await lab.getByRole('button', { name: 'Compare the two' }).click();
  const comparison = lab.getByRole('region', { name: 'Comparison' });
  await expect(comparison.getByRole('heading', { level: 3 }).first()).toContainText(/^A: \S+ \(.* · B: \S+ \(/);
  await expect(comparison.getByRole('row', { name: /aqm/ }).first()).toContainText('codel');
  await expect(comparison.getByRole('row', { name: /Utilization/ }).first()).toBeVisible();
  const queue = comparison.getByRole('group', { name: 'Queue', exact: true }).first();
  await expect(queue.locator('.mq-legend button')).toHaveText([/^A/, /^B/]);
  await comparison.getByRole('group', { name: 'Results' }).getByRole('checkbox', { name: 'B' }).uncheck();
  await expect(queue.locator('.mq-legend button')).toHaveCount(1);
  await lab.setViewportSize({ width: 400, height: 900 });
  await expect.poll(() => lab.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(400);
  await lab.setViewportSize({ width: 1300, height: 900 });

  await lab.getByRole('button', { name: 'Report of codel' }).click();
  const report = lab.frameLocator('iframe');
  await expect(report.getByRole('heading', { name: 'Small' }).first()).toBeVisible();
  const outer = await lab.locator('iframe').evaluate((frame: HTMLIFrameElement) => frame.contentDocument);
  expect(outer).toBeNull();
  await lab.getByRole('dialog').getByRole('button', { name: 'Close' }).click();

  await lab.getByRole('button', { name: 'Open codel in the lab' }).click();
  await expect(lab.getByRole('heading', { name: 'Small' })).toBeVisible();
  await ended(lab);
  await lab.getByLabel('AQM', { exact: true }).selectOption('pie');
  await ended(lab);
  await lab.getByRole('button', { name: 'Results' }).click();
  await lab.getByRole('button', { name: "Run the lab's scenario here" }).click();
  await expect(lab.getByRole('row', { name: /lab-run-1/ })).toContainText('pie');
  expect(served.folder).not.toBe('');
});
