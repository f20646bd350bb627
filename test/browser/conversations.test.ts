import { expect } from 'vitest';
import { browserTests } from '../support/browser/browser-tests.ts';
import { startDashboardStack } from '../support/dashboard/dashboard-stack.ts';
import { shownHostileText } from '../support/dashboard/hostile.ts';

const { test, openPage } = browserTests();

const keepBodies = {
  kinds: ['note', 'task'],
  ageMs: 86_400_000,
  bytes: 10_000_000,
};

test('A body is shown as what it is: text, Markdown, JSON that is folded, and images by type and size.', async () => {
  await using here = await startDashboardStack({ counter: false, broker: { keepBodies } });
  const ann = await here.stack.clientAt('ann');
  const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(4096) };
  const bodies = [
    { text: 'plain\nwith two lines' },
    { text: '# Plan\n\n- **one**\n- [two](https://example.com/two)\n\n| a | b |\n|---|---|\n| 1 | 2 |' },
    { page: { number: 4, words: ['deep'] }, content: [image] },
    { text: 'see page', page: { number: 5 } },
  ];
  for (const body of bodies) await ann.deliver({ to: 'operator', kind: 'note', thread: 'plan', body });
  await using opened = await openPage();
  const { page, problems } = opened;
  await page.goto(await here.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.goto(`${here.origin}/ui/#/conversations?thread=plan`);
  const articles = page.getByRole('article');
  await expect.poll(() => articles.count()).toBe(4);
  expect(await articles.nth(0).textContent()).toContain('plain\nwith two lines');
  expect(await articles.nth(1).locator('.heading').textContent()).toBe('Plan');
  expect(await articles.nth(1).locator('li strong').textContent()).toBe('one');
  expect(await articles.nth(1).locator('td').allTextContents()).toEqual(['a', 'b', '1', '2']);
  const link = articles.nth(1).getByRole('link', { name: 'https://example.com/two' });
  expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
  await articles.nth(1).getByRole('button', { name: 'As written' }).click();
  expect(await articles.nth(1).textContent()).toContain('# Plan');
  expect(await articles.nth(2).getByText('deep').isVisible()).toBe(false);
  await articles.nth(2).locator('summary').filter({ hasText: '2 values' }).click();
  await articles.nth(2).locator('summary').filter({ hasText: '[ 1 value ]' }).first().click();
  await articles.nth(2).getByText('deep').waitFor();
  await articles.nth(2).locator('summary').filter({ hasText: '[ 1 value ]' }).last().click();
  await articles.nth(2).getByText('[image/png, 3.0 KiB]').waitFor();
  expect(await articles.nth(3).textContent()).toContain('see page');
  await articles.nth(3).locator('summary').first().waitFor();
  // A link to one message leads to it again.
  await articles.nth(3).getByRole('link').click();
  await page.reload();
  await page.locator('.chosen').filter({ hasText: 'see page' }).waitFor();
  expect(problems).toEqual([]);
});

test('Hostile Markdown and JSON do nothing: no script, no element of theirs, no request, no other page, and nothing hidden.', async () => {
  await using here = await startDashboardStack({ counter: false, broker: { keepBodies } });
  const eve = await here.stack.clientAt('eve');
  const bad = 'http://127.0.0.1:9/x';
  const hidden = '\u202Egnp.exe\u200B';
  const texts = [
    `# <img src=x onerror="window.hacked=1"> ${hidden}`,
    `![a](${bad}.png) ![b](data:image/png;base64,AAAA) ![c](javascript:window.hacked=1)`,
    '[a](javascript:window.hacked=1) [b](JaVaScRiPt:window.hacked=1) [c](data:text/html,x) [d](vbscript:x) **x**',
    `[e](java\nscript:window.hacked=1) [f](#/system) [g](/api/tokens) [h](//evil.example) **x**`,
    `- <script>window.hacked=1</script>\n- <iframe src="${bad}"></iframe>\n- <svg onload="window.hacked=1">`,
    `[https://bank.example/](${bad}) **x**`,
    `\`\`\`<b onmouseover="window.hacked=1">\n<style>*{display:none}</style>\n\`\`\``,
    `| a |\n|---|\n| <a href="javascript:window.hacked=1" id="location">x</a> |`,
    `> ${'> '.repeat(4000)}${'['.repeat(4000)}${'**'.repeat(4000)}`,
    `&lt;script&gt; &#60;img src=x onerror=window.hacked=1&#62; **x**`,
  ];
  const objects = [
    { type: 'image', mimeType: '<img src=x onerror="window.hacked=1">', data: 'AAAA' },
    { content: [{ type: 'resource_link', uri: 'javascript:window.hacked=1' }], __proto__: null },
    JSON.parse('{"__proto__": {"hacked": 1}, "constructor": "x", "text": {"toString": 1}}'),
  ];
  for (const body of [...texts.map((text) => ({ text })), ...objects])
    await eve.deliver({ to: 'operator', kind: 'note', thread: 'bad', body });
  await using opened = await openPage();
  const { page, problems } = opened;
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto(await here.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  for (const view of ['conversations', 'conversations?thread=bad&message=<b>&after=0']) {
    await page.goto(`${here.origin}/ui/#/${view}`);
    await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
    await page.getByText(/eve/).first().waitFor();
  }
  const transcript = page.locator('.transcript');
  await expect.poll(() => transcript.getByRole('article').count()).toBe(texts.length + objects.length);
  for (const summary of await transcript.locator('summary').all()) await summary.click();
  for (const element of ['img', 'script', 'iframe', 'svg:not(.mark svg)', 'style', 'b', '[id]', '[onload]'])
    expect(await transcript.locator(element).count(), element).toBe(0);
  const links = await transcript
    .locator('a:not(.at)')
    .evaluateAll((all) => all.map((one) => [(one as HTMLAnchorElement).href, one.textContent]));
  expect(links).toEqual([[bad, bad]]);
  expect(await transcript.textContent()).toContain(shownHostileText);
  const written = transcript.getByRole('button', { name: 'As written' });
  while ((await written.count()) > 0) await written.first().click();
  expect(await page.evaluate('[window.hacked, ({}).hacked]')).toEqual([undefined, undefined]);
  expect(asked.filter((url) => !url.startsWith(here.origin))).toEqual([]);
  expect(problems).toEqual([]);
});

test('Threads are found by words, agent, tool and outcome in one field, which stands in the address.', async () => {
  await using here = await startDashboardStack({ broker: { keepBodies } });
  const ann = await here.stack.clientAt('ann');
  await here.stack.client('bob');
  const walt = await here.stack.clientAt('walt');
  await ann.deliver({ to: 'bob', kind: 'note', thread: 'calm', body: { text: 'all is well' } });
  await ann.deliver({ to: 'walt', kind: 'task', thread: 'broken', body: { text: 'open the door' } });
  await using inbox = await walt.subscribe();
  const { value } = await inbox.messages.next();
  await walt.nack([value!.seq!], { dead: true, reason: 'no key' });
  await using opened = await openPage();
  const { page, problems } = opened;
  await page.goto(await here.link());
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
  await page.goto(`${here.origin}/ui/#/conversations`);
  const shown = () => page.locator('.threads .said').allTextContents();
  await expect.poll(shown).toEqual(['open the door', 'all is well']);
  await page.getByRole('searchbox').pressSequentially('outcome:dead ');
  await expect.poll(shown).toEqual(['open the door']);
  expect(page.url()).toContain('outcome=dead');
  await page.reload();
  await expect.poll(shown).toEqual(['open the door']);
  await page.getByRole('button', { name: 'Remove outcome:dead' }).click();
  await page.keyboard.type('agent:bob well');
  await expect.poll(shown).toEqual(['all is well']);
  await page.keyboard.press('Escape');
  await page.goto(`${here.origin}/ui/#/conversations?tool=no_such_tool`);
  await page.getByText('Nothing matches.').waitFor();
  expect(problems).toEqual([]);
});
