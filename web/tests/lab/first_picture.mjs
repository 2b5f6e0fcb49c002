// node first_picture.mjs URL N: opens the lab N times in a fresh browser profile; a line of JSON for each: ms from opening
// the page until the first chart has a curve, and until its run has ended.
import { chromium } from '@playwright/test';

const [url, rounds] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
for (let i = 0; i < Number(rounds); i++) {
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 } });
  const page = await context.newPage();
  await page.goto(url);
  const seen = (selector) => page.waitForFunction((each) => document.querySelector(each) && performance.now(), selector);
  const picture = await (await seen('.mq-chart .mq-entry')).jsonValue();
  const end = await (await seen('.tiles')).jsonValue();
  console.log(JSON.stringify({ picture, end }));
  await context.close();
}
await browser.close();
