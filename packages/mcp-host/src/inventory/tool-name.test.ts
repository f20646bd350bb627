import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  assignToolNames,
  defaultToolNameMax,
  isMcpTool,
  mayBelongTo,
  mcpToolName,
  parseMcpToolName,
  serversAlike,
  smallestToolNameMax,
  toolNameStart,
  whyRenamed,
} from './tool-name.ts';

const allowed = /^[A-Za-z0-9_-]+$/;
const parts = [
  'a',
  'GitHub',
  'my server',
  'a.b',
  'a_b',
  'a-b',
  'é',
  '日本',
  'x'.repeat(30),
  'y'.repeat(200),
  '..',
  '_',
];
const pairs = parts.flatMap((server) => parts.map((tool) => ({ server, tool })));

describe('tool names', () => {
  it('lower-cases the server and keeps the tool as it is where it can', () => {
    expect(mcpToolName('GitHub Enterprise', 'create-Issue')).toBe('mcp_github_enterprise__create-Issue');
    expect(mcpToolName('a-b', 'x.y')).toBe('mcp_a_b__x_y');
  });

  it.each([smallestToolNameMax, defaultToolNameMax, 64])(
    'begin with the start of their server, also where they are cut to %i characters',
    (max) => {
      for (const { server, tool } of pairs)
        expect(mcpToolName(server, tool, max).startsWith(toolNameStart(server, max))).toBe(true);
      expect(toolNameStart('GitHub', 48)).toBe('mcp_github__');
      expect(toolNameStart('y'.repeat(200), 48)).toBe(`mcp_${'y'.repeat(16)}`);
    },
  );

  it.each([smallestToolNameMax, defaultToolNameMax, 64])(
    'are legal, stable and at most %i characters',
    (max) => {
      for (const { server, tool } of pairs) {
        const name = mcpToolName(server, tool, max);
        expect(name).toMatch(allowed);
        expect(name.length).toBeLessThanOrEqual(max);
        expect(mcpToolName(server, tool, max)).toBe(name);
        expect(isMcpTool(name)).toBe(true);
        expect(mayBelongTo(server, name)).toBe(true);
      }
    },
  );

  it('stay apart when cut', () => {
    const long = 'z'.repeat(60);
    expect(mcpToolName('s', `${long}1`)).not.toBe(mcpToolName('s', `${long}2`));
    expect(mcpToolName(`${long}1`, 't')).not.toBe(mcpToolName(`${long}2`, 't'));
  });

  it('are read back for people, and nothing else is taken for one', () => {
    expect(parseMcpToolName('mcp_github__create-Issue')).toEqual({ server: 'github', tool: 'create-Issue' });
    expect(parseMcpToolName('mcp_a_b__c__d')).toEqual({ server: 'a_b', tool: 'c__d' });
    for (const other of [
      '',
      'mcp_',
      'mcp___',
      'github__x',
      'mcp_A__x',
      'mcp_a__',
      'mcp_a__b c',
      'send_message',
    ]) {
      expect(isMcpTool(other)).toBe(false);
    }
  });
});

describe('assigning names', () => {
  const assign = (tools: { server: string; tool: string }[], servers = tools.map((t) => t.server)) =>
    assignToolNames(tools, serversAlike([...new Set(servers)]));

  it('gives every tool of any mix of servers a name of its own', () => {
    const names = assign(pairs);
    expect(names).not.toContain(undefined);
    expect(new Set(names).size).toBe(pairs.length);
  });

  it('is injective for all servers and tools, once colliding names are hashed', () => {
    // Few letters, so that names collide; long ones, so that they are cut.
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'A', '_', '-', '.', 'é'), minLength: 1, maxLength: 4 }),
      fc.string({ minLength: 1, maxLength: 70 }),
      fc.constantFrom('x'.repeat(60), `${'x'.repeat(60)}y`, 'a__b', 'b__a'),
    );
    const tools = fc.uniqueArray(fc.record({ server: part, tool: part }), {
      maxLength: 40,
      selector: ({ server, tool }) => JSON.stringify([server, tool]),
    });
    fc.assert(
      fc.property(tools, fc.constantFrom(smallestToolNameMax, defaultToolNameMax, 64), (keys, max) => {
        const names = assignToolNames(keys, serversAlike([...new Set(keys.map((key) => key.server))]), max);
        expect(new Set(names).size).toBe(keys.length);
        for (const name of names) expect(name).toMatch(/^mcp_[A-Za-z0-9_-]+$/);
        expect(Math.max(0, ...names.map((name) => name!.length))).toBeLessThanOrEqual(max);
      }),
    );
  });

  it('marks the tools of servers whose names sanitise alike, no matter which of them is up', () => {
    const both = assign([
      { server: 'a.b', tool: 'x' },
      { server: 'A-B', tool: 'x' },
    ]);
    const one = assign([{ server: 'A-B', tool: 'x' }], ['a.b', 'A-B']);
    expect(both[0]).toMatch(/^mcp_a_b__x_[0-9a-f]{8}$/);
    expect(one[0]).toBe(both[1]);
    expect(both[0]).not.toBe(both[1]);
  });

  it('lets the tool that is spelled so keep the plain name', () => {
    const names = assign([
      { server: 's', tool: 'a.b' },
      { server: 's', tool: 'a_b' },
    ]);
    expect(names[1]).toBe('mcp_s__a_b');
    expect(names[0]).toMatch(/^mcp_s__a_b_[0-9a-f]{8}$/);
  });

  it('keeps tools apart whose names only look alike when joined', () => {
    const names = assign([
      { server: 'a', tool: 'b__c' },
      { server: 'a__b', tool: 'c' },
    ]);
    expect(new Set(names).size).toBe(2);
  });

  it('keeps the first of two that cannot be told apart', () => {
    const twice = { server: 's', tool: 't' };
    expect(assign([twice, twice])).toEqual(['mcp_s__t', undefined]);
  });
});

describe('tools of servers without a prefix', () => {
  const none = new Set<string>();
  const own = (server: string, tool: string) => ({ server, tool, prefix: false });

  it('have their own names, made legal and short where they are not', () => {
    const tools = [own('s', 'read-File'), own('s', 'a.b'), own('s', 'z'.repeat(60))];
    const names = assignToolNames(tools, new Set(['s']), 47);
    expect(names.slice(0, 2)).toEqual(['read-File', 'a_b']);
    expect(names[2]).toMatch(/^z{38}_[0-9a-f]{8}$/);
    expect(whyRenamed(tools[0]!, names[0]!, new Set(['s']))).toBeUndefined();
    expect(whyRenamed(tools[1]!, names[1]!, none)).toBeUndefined();
    expect(whyRenamed(tools[2]!, names[2]!, none)).toContain('47 characters');
  });

  it('leave a disputed name to the first, and within one server to the one that is spelled so', () => {
    expect(assignToolNames([own('a', 'x'), own('b', 'x'), own('b', 'y')], none)).toEqual([
      'x',
      undefined,
      'y',
    ]);
    const [changed, exact] = assignToolNames([own('a', 'x.y'), own('a', 'x_y')], none);
    expect(exact).toBe('x_y');
    expect(changed).toMatch(/^x_y_[0-9a-f]{8}$/);
  });

  it.each(['mcp_files__write', 'signalbox_reply'])('cannot pass for others by the name %s', (tool) => {
    const key = own('evil', tool);
    const [name] = assignToolNames([key], none);
    expect(name).toBe(`mcp_evil__${tool}`);
    expect(whyRenamed(key, name!, none)).toContain('looks like one that the gateway gives');
    expect(assignToolNames([own('good', tool.slice(3))], none)).toEqual([tool.slice(3)]);
  });

  it('may have any name but one of the other form, as long as they are not known', () => {
    expect(mayBelongTo('s', 'anything', false)).toBe(true);
    expect(mayBelongTo('s', 'anything')).toBe(false);
    expect(mayBelongTo('s', 'mcp_other__x', false)).toBe(false);
    expect(mayBelongTo('s', 'mcp_s__mcp_files__x', false)).toBe(true);
  });
});
