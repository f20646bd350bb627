import type { ClientState } from '@signalbox/client';
import { expect, test } from 'vitest';
import { OrchestratorHealth } from './orchestrator-health.ts';

test('An orchestrator is ready while it runs and its broker is there, and else says why not.', async () => {
  const journal = Promise.withResolvers<Error>();
  let state = { name: 'ready' } as ClientState;
  const health = new OrchestratorHealth();
  const why = () => {
    const readiness = health.ready();
    return readiness.ready ? 'ready' : readiness.code;
  };
  expect(why()).toBe('starting');
  health.started({
    client: {
      get state() {
        return state;
      },
    },
    journal: { failed: journal.promise },
    orchestrator: { status: () => ({ figures: {}, problems: ["server 'docs' is in the state ejected"] }) },
  });
  expect(why()).toBe('ready');
  expect(health.checks()).toEqual([
    { name: 'broker', ok: true, detail: 'ready' },
    { name: 'servers', ok: false, detail: "server 'docs' is in the state ejected" },
  ]);
  state = { name: 'reconnecting' } as ClientState;
  expect(why()).toBe('broker_lost');
  health.draining();
  expect(why()).toBe('draining');
  journal.resolve(new Error('no room'));
  await journal.promise;
  expect(why()).toBe('journal_failed');
  health.draining();
  expect(why()).toBe('journal_failed');
});
