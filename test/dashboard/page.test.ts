import { expect, test } from 'vitest';
import { chromiumPath, openPage, startBrowser } from '../support/browser/chromium.ts';
import { startAskingDashboard } from '../support/dashboard/asking-dashboard.ts';
import { hostileText, sendHostileTexts, shownHostileText } from '../support/dashboard/hostile.ts';

test.runIf(chromiumPath !== undefined || process.platform === 'linux')(
  'A person signs in by the link, approves a call that waits, and sees hostile texts of agents as texts, in every view.',
  async () => {
    const keepBodies = { kinds: ['task', 'note'], ageMs: 86_400_000, bytes: 1_000_000 };
    await using here = await startAskingDashboard({ broker: { keepBodies } });
    await sendHostileTexts(here.stack);
    const eve = await here.stack.executor('eve', 'builder');
    const called = eve.execute({ name: 'mcp_counter__count', arguments: { [hostileText]: hostileText } });
    const [{ id } = { id: '' }] = await here.waiting(1);
    await using browser = await startBrowser();
    await using opened = await openPage(browser);
    const { page, problems } = opened;
    await page.goto(await here.link());
    await page.getByRole('heading', { name: 'Needs attention' }).waitFor();
    // The code is gone from the address before anybody could copy it.
    expect(page.url()).toBe(`${here.origin}/ui/`);
    const views = [
      '',
      `approvals?id=${id}`,
      'agents?agent=mallory',
      'agents?agent=victim',
      'conversations',
      `conversations?search=${encodeURIComponent('gnp exe')}`,
      `conversations?thread=${encodeURIComponent('<i>&"thread')}`,
      'timeline?text=mallory',
      'dead',
      'calls',
      'tools?role=builder&tool=mcp_counter__count',
      'tools?part=ranking',
      'system',
    ];
    for (const view of views) {
      await page.goto(`${here.origin}/ui/#/${view}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Reading …').count()).toBe(0);
      if (view.startsWith('timeline')) await page.locator('.line').last().click();
      if (view === 'dead') await page.getByRole('row').filter({ hasText: 'victim' }).click();
      if (view.startsWith('tools?role')) await page.getByText('builder may call').waitFor();
      if (view !== 'calls' && view !== 'system' && !view.startsWith('tools'))
        await expect.poll(() => page.locator('body').textContent()).toContain(shownHostileText);
      expect(await page.evaluate('window.hacked'), view).toBeUndefined();
      expect(await page.locator('.place img, .place script').count(), view).toBe(0);
    }
    await page.goto(`${here.origin}/ui/#/approvals?id=${id}`);
    await page.getByRole('button', { name: 'Approve…' }).click();
    await page.getByRole('button', { name: 'Approve once' }).click();
    await page.getByText('Approved: counter:count of eve is called').waitFor();
    expect(await called).toHaveProperty('result.success', true);
    expect(here.runs()).toBe(1);
    await page.getByText('nothing waits').waitFor();
    expect(problems).toEqual([]);
    expect(hostileText).not.toContain(shownHostileText);
  },
);
