import { join } from 'node:path';
import { RoleToolAllowlist } from '@signalbox/orchestrator';
import type { Approval } from '@signalbox/protocol';
import { openSqliteJournal } from '@signalbox/store/journal';
import { tempDir } from '@signalbox/testing';
import { expect } from 'vitest';
import type { ToolStackOptions } from '../orchestrator/tool-stack.ts';
import { type ApiSignIn, jsonOf, signedIn } from './api-sign-in.ts';
import { type DashboardStack, startDashboardStack } from './dashboard-stack.ts';

/** A dashboard whose orchestrator makes calls of `count` and `slow` by the roles `builder` and `tester` wait. */
export interface AskingDashboard extends DashboardStack {
  /** The token of an agent that decides on calls of certain roles. */
  approver(agent: string, approves: string[]): Promise<string>;
  /** Resolves with the calls that wait, the newest first, as soon as there are so many. */
  waiting(count: number): Promise<Approval[]>;
  /** Returns how often the tool `count` ran, according to its server. */
  runs(): number;
}

const asks = ['mcp_counter__count', 'mcp_counter__slow'];
const allowlist = RoleToolAllowlist.fromEntries([
  ['builder', ['mcp_counter__*']],
  ['tester', ['mcp_counter__*']],
  ['operator', ['*']],
]);

/** Starts a dashboard with calls that wait. */
export async function startAskingDashboard(options: ToolStackOptions = {}): Promise<AskingDashboard> {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(await tempDir());
  const journal = starting.use(await openSqliteJournal({ file: join(path, 'journal.db') }));
  const approvals = { roles: { builder: asks, tester: asks }, deadlineMs: 60 * 60_000, notify: [] };
  const here = starting.use(await startDashboardStack({ journal, approvals, allowlist, ...options }));
  const resources = starting.move();
  let asking: ApiSignIn | undefined;
  return {
    ...here,
    async approver(agent, approves) {
      const { token } = await here.stack.broker.broker.issueToken({ agent, role: 'lead', approves });
      return token;
    },
    async waiting(count) {
      asking ??= await signedIn(here);
      const { get } = asking;
      const read = async (): Promise<Approval[]> => jsonOf(await get('approvals')).approvals;
      await expect.poll(async () => (await read()).length).toBe(count);
      return await read();
    },
    runs: () => here.stack.ran('count').filter(({ at }) => at === 'start').length,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
