import type { McpContent } from '@signalbox/mcp-host';
import { type Sender, SignalboxError } from '@signalbox/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { McpContentAllowlist } from '../roles/mcp-content-allowlist.ts';
import { Subscriptions } from './subscriptions.ts';
import { noPages } from './tool-pages.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const uris = ['a:1', 'a:2', 'a:3', 'b:1'];
const mcpContent: McpContent = {
  servers: ['one'],
  untold: [],
  prompts: [],
  resources: uris.map((uri) => ({ server: 'one', resource: { uri, name: uri }, isHidden: false })),
  templates: [],
  instructions: [],
};

/** Makes subscriptions that show their questions to the server and the addresses that are told of updates. */
function newSubscriptions(limits = { perAgent: 3, all: 4 }) {
  const followers = new Map<string, Set<() => void>>();
  const told: string[] = [];
  const gone = new Set<string>();
  let allowlist = McpContentAllowlist.fromEntries([['reader', { resources: ['one:a:*'] }]], {
    unlisted: 'deny',
  });
  let now = 0;
  const subscriptions = new Subscriptions({
    host: {
      follow({ uri }, _caller, onUpdated) {
        followers.set(uri, (followers.get(uri) ?? new Set()).add(onUpdated));
        return () => void followers.get(uri)?.delete(onUpdated);
      },
    },
    client: {
      async deliver({ to, body }) {
        if (gone.has(to)) throw new SignalboxError('no_consumer', 'nobody is there');
        told.push(`${to} ${(body as { uri: string }).uri}`);
        return { duplicate: false } as never;
      },
      listConnected: async () => [],
    },
    rules: () => ({ mcpContent, allowlist, pages: noPages }),
    limits,
    now: () => now,
    log: () => {},
  });
  return {
    subscriptions,
    told,
    gone,
    followed: () => [...followers].filter(([, each]) => each.size > 0).map(([uri]) => uri),
    update: (uri: string) => {
      for (const onUpdated of [...(followers.get(uri) ?? [])]) onUpdated();
    },
    allow: (patterns: string[]) => {
      allowlist = allowlist.withRole('reader', { resources: patterns });
    },
    pass: (ms: number) => {
      now += ms;
    },
  };
}

const sender = (address: string): Sender =>
  ({ address, agent: address.split('#')[0]!, role: 'reader' }) as Sender;
const rosa = sender('rosa#1');

test('An address hears of exactly what it asked for last and may read.', async () => {
  const { subscriptions, told, followed, update } = newSubscriptions();
  const reply = subscriptions.set(rosa, ['a:1', 'b:1', 'a:9', 'a:1/../2']);
  expect(reply.subscribed).toEqual(['a:1']);
  expect(reply.refused.map(({ uri, error }) => [uri, error.code])).toEqual([
    ['b:1', 'permission_denied'],
    ['a:9', 'not_found'],
    ['a:1/../2', 'invalid_arguments'],
  ]);
  subscriptions.set(sender('walt#1'), ['a:2']);
  update('a:1');
  update('a:2');
  expect(told).toEqual(['rosa#1 a:1', 'walt#1 a:2']);
  subscriptions.set(rosa, []);
  expect(followed()).toEqual(['a:2']);
});

test('An update of a resource that its role may no longer read is not told; many updates are few.', () => {
  const { subscriptions, told, update, allow } = newSubscriptions();
  subscriptions.set(rosa, ['a:1', 'a:2']);
  for (let i = 0; i < 100; i++) update('a:1');
  expect(told).toEqual(['rosa#1 a:1']);
  vi.advanceTimersByTime(200);
  expect(told).toHaveLength(2);
  vi.advanceTimersByTime(1000);
  expect(told).toHaveLength(2);
  allow(['one:a:2']);
  update('a:1');
  update('a:2');
  expect(told.slice(2)).toEqual(['rosa#1 a:2']);
});

test('What an agent and all agents may follow is bounded; another agent still has its own.', () => {
  const { subscriptions } = newSubscriptions();
  expect(subscriptions.set(rosa, ['a:1', 'a:2']).subscribed).toHaveLength(2);
  const more = subscriptions.set(sender('rosa#2'), ['a:1', 'a:2']);
  expect([more.subscribed, more.refused[0]?.error.code]).toEqual([['a:1'], 'quota_exceeded']);
  expect(subscriptions.set(sender('walt#1'), ['a:1', 'a:2']).subscribed).toEqual(['a:1']);
  // Its own former places are free for the address itself.
  expect(subscriptions.set(rosa, ['a:2', 'a:3']).subscribed).toHaveLength(2);
});

test('An address that is gone is forgotten at the next update, and at the next look at who is connected.', async () => {
  const { subscriptions, gone, followed, update, pass } = newSubscriptions();
  subscriptions.set(rosa, ['a:1']);
  gone.add(rosa.address);
  update('a:1');
  await vi.advanceTimersByTimeAsync(0);
  expect(followed()).toEqual([]);
  subscriptions.set(sender('walt#1'), ['a:2']);
  await subscriptions.prune();
  expect(followed()).toEqual(['a:2']);
  pass(60_000);
  await subscriptions.prune();
  expect(followed()).toEqual([]);
});

test('What is wanted is looked for again when the servers change.', () => {
  const { subscriptions, followed, allow } = newSubscriptions();
  subscriptions.set(rosa, ['a:1', 'b:1']);
  allow(['one:b:*']);
  subscriptions.refresh();
  expect(followed()).toEqual(['b:1']);
});

test('An update that is due when the servers change is told.', () => {
  const { subscriptions, told, update } = newSubscriptions();
  subscriptions.set(rosa, ['a:1', 'a:2']);
  update('a:1');
  update('a:1');
  subscriptions.refresh();
  expect(told).toEqual(['rosa#1 a:1']);
  vi.advanceTimersByTime(200);
  expect(told).toEqual(['rosa#1 a:1', 'rosa#1 a:1']);
  update('a:2');
  update('a:2');
  subscriptions.set(rosa, ['a:1']);
  vi.advanceTimersByTime(1000);
  expect(told).toEqual(['rosa#1 a:1', 'rosa#1 a:1', 'rosa#1 a:2']);
});
