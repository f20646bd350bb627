import type { Page } from 'playwright-core';
import type { Answered, PageProbe } from './page-probe.ts';

/** The actions of an operator on the page. Each returns how long the page took. */
export type Interaction = (page: Page, probe: PageProbe) => Promise<Answered[]>;

const read = (page: Page) => async (): Promise<void> => {
  await page.waitForFunction(
    () => !document.querySelector('main')?.textContent?.includes('Reading …'),
    undefined,
    { polling: 'raf' },
  );
};

const menu = (page: Page, view: string) =>
  page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view });

async function open(page: Page, probe: PageProbe, view: string): Promise<Answered> {
  return await probe.measure(
    () => menu(page, view).click(),
    async () => {
      await page.getByRole('heading', { level: 1, name: view }).waitFor();
      await read(page)();
    },
  );
}

/** The views of the menu. */
export const views: readonly string[] = [
  'Agents',
  'Timeline',
  'Dead letters',
  'Calls',
  'Servers',
  'System',
  'Needs attention',
];

async function type(page: Page, probe: PageProbe, text: string): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (const key of text) answers.push(await probe.measure(() => page.keyboard.press(key)));
  return answers;
}

async function rows(page: Page, probe: PageProbe, count: number): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let row = 0; row < count; row++)
    answers.push(
      await probe.measure(() => page.locator('tbody tr[tabindex]').nth(row).locator('td').first().click()),
    );
  return answers;
}

/** All measured actions by name, in the order in which they are done. */
export const interactions: Readonly<Record<string, Interaction>> = {
  'change the view': async (page, probe) => {
    const answers: Answered[] = [];
    for (const view of views) answers.push(await open(page, probe, view));
    return answers;
  },
  'select an agent': async (page, probe) => {
    await open(page, probe, 'Agents');
    return await rows(page, probe, 3);
  },
  'filter 1,000 agents': async (page, probe) => {
    await page.getByRole('searchbox').first().click();
    const answers = await type(page, probe, 'w-77');
    for (let left = 4; left > 0; left--)
      answers.push(await probe.measure(() => page.keyboard.press('Backspace')));
    return answers;
  },
  'send a note': async (page, probe) => {
    await page.getByLabel('Send a note').click();
    const answers = await type(page, probe, 'please stop');
    answers.push(
      await probe.measure(
        () => page.getByRole('button', { name: 'Send', exact: true }).click(),
        async () =>
          await page
            .getByText(/The note for .* is on disk/)
            .first()
            .waitFor(),
      ),
    );
    await page.getByRole('button', { name: 'Dismiss' }).first().click();
    return answers;
  },
  'scroll 10,000 dead letters': async (page, probe) => {
    await open(page, probe, 'Dead letters');
    await page.getByText(/1?[09],\d{3} messages given up/).waitFor();
    await page.locator('tbody').hover();
    const answers: Answered[] = [];
    for (const by of [400, 2000, 20_000, 100_000, -50_000, -400])
      answers.push(await probe.measure(() => page.mouse.wheel(0, by)));
    return answers;
  },
  'go through dead letters by key': async (page, probe) => {
    await page.locator('tbody tr[tabindex]').nth(14).locator('td').first().click();
    const answers: Answered[] = [];
    for (const key of ['End', 'Home', 'PageDown', 'ArrowDown', 'ArrowUp'])
      answers.push(await probe.measure(() => page.keyboard.press(key)));
    return answers;
  },
  'narrow dead letters down': async (page, probe) => {
    const answers = [await probe.measure(() => page.locator('a.chip').first().click())];
    answers.push(...(await rows(page, probe, 2)));
    answers.push(await probe.measure(() => page.getByRole('link', { name: 'Show all' }).click()));
    return answers;
  },
  'open a timeline': async (page, probe) => {
    const answers = [await open(page, probe, 'Timeline')];
    await page.locator('.line').nth(7).waitFor();
    for (const line of [0, 3, 7])
      answers.push(await probe.measure(() => page.locator('.line').nth(line).click()));
    return answers;
  },
  'search the timeline': async (page, probe) => {
    await page.getByRole('searchbox').click();
    const answers = await type(page, probe, 'echo');
    answers.push(await probe.measure(() => page.getByRole('link', { name: 'Clear' }).click(), read(page)));
    return answers;
  },
  'filter calls': async (page, probe) => {
    await open(page, probe, 'Calls');
    await page.getByRole('searchbox').first().click();
    return await type(page, probe, 'w-2');
  },
};
