import { defaultLimits } from '@signalbox/protocol';
import { describe, expect, it } from 'vitest';
import { RoleLimits } from './role-limits.ts';

const limits = new RoleLimits(
  { rates: { messages: 50 }, connections: { total: 10 } },
  { coder: { rates: { messages: 500 } }, tester: { rates: { messages: 5 } } },
);

describe('the limits of a role', () => {
  it('are its own, else those for all roles, else the defaults', () => {
    expect(limits.of('coder').rates.messages).toBe(500);
    expect(limits.of('tester').rates.messages).toBe(5);
    expect(limits.of('other').rates.messages).toBe(50);
    expect(limits.of('constructor').rates.messages).toBe(50);
    expect(limits.of('coder').rates.messagesBurst).toBe(defaultLimits.rates.messagesBurst);
    expect(limits.of('coder').connections.total).toBe(10);
    expect(limits.of('coder')).toBe(limits.of('coder'));
  });

  it('leave operators and orchestrators the room that they need, unless their role says otherwise', () => {
    expect(limits.of('orchestrator').rates.messages).toBeGreaterThan(100_000);
    const narrow = new RoleLimits({}, { orchestrator: { rates: { messages: 7 } } });
    expect(narrow.of('orchestrator').rates.messages).toBe(7);
    expect(narrow.of('operator').rates.messages).toBeGreaterThan(100_000);
  });

  it('give an orchestrator with a label more than an agent, and less than one without', () => {
    const messages = (role: string) => limits.of(role).rates.messages;
    expect([messages('other'), messages('host')]).toEqual([50, 20_000]);
    expect(messages('host')).toBeLessThan(messages('orchestrator'));
    expect(limits.of('host').sender).toEqual(defaultLimits.sender);
    expect(limits.setting('host', 'rates', 'messages')).toBe('roles.host.limits.rates.messages');
    expect(limits.setting('host', 'sender', 'messages')).toBe('broker.limits.sender.messages');
  });

  it('are raised where their value comes from', () => {
    expect(limits.setting('coder', 'rates', 'messages')).toBe('roles.coder.limits.rates.messages');
    expect(limits.setting('coder', 'rates', 'messagesBurst')).toBe('broker.limits.rates.messagesBurst');
    expect(limits.setting('other', 'rates', 'messages')).toBe('broker.limits.rates.messages');
    expect(limits.setting('operator', 'rates', 'messages')).toBe('roles.operator.limits.rates.messages');
    expect(limits.setting('operator', 'connections', 'total')).toBe('broker.limits.connections.total');
  });
});
