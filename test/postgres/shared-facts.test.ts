import { join } from 'node:path';
import { issueToken, readStats } from '@signalbox/client/operator';
import { connectWire } from '@signalbox/testing';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../support/cli/command-line.ts';
import { everythingText, startWorkspace } from '../support/cli/workspace.ts';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';
import { isRunning } from '../support/processes.ts';
import { serveAcp } from '../support/serve/served-acp.ts';

describe.skipIf(serverUrl === undefined)('Brokers on one schema', () => {
  it('answer a hold when the orchestrators of all of them act by it, and say so if one does not in time', async () => {
    await using site = await startTwoBrokerProcesses();
    const { operator } = site;
    const { token } = await issueToken(operator, { agent: 'orchestrator', role: 'orchestrator' });
    await using orchestrator = await connectWire(site.other.ready.url, { agent: 'orchestrator', token });
    orchestrator.send({ type: 'follow_holds' });
    const { version } = await orchestrator.next('holds');
    orchestrator.send({ type: 'holds_known', version });
    let isPlaced = false;
    const placing = operator.admin('hold', { on: 'agent', name: 'ann', reason: 'a test' }).finally(() => {
      isPlaced = true;
    });
    const told = await orchestrator.next('holds');
    expect(told.holds).toMatchObject([{ name: 'ann' }]);
    expect(isPlaced).toBe(false);
    orchestrator.send({ type: 'holds_known', version: told.version });
    expect(await placing).toEqual({ hold: expect.objectContaining({ name: 'ann' }) });
    expect(await operator.admin('hold', { on: 'role', name: 'worker', reason: 'a test' })).toMatchObject({
      unconfirmed: true,
    });
  });

  it('know agents that connected to another one, also when their tokens are gone', async () => {
    await using site = await startTwoBrokerProcesses();
    const { operator } = site;
    await using ann = await site.connect('ann', [site.one]);
    const { id, token } = await issueToken(operator, { agent: 'eve', role: 'worker' });
    const eve = await site.connect('eve', [site.other], { token });
    await operator.admin('token_revoke', { id });
    await eve.closed;
    await expect
      .poll(() => ann.deliver({ to: 'eve', kind: 'note' }).catch(({ code }: { code: string }) => code))
      .toMatchObject({ duplicate: false });
    await expect(ann.deliver({ to: 'nobody', kind: 'note' })).rejects.toMatchObject({
      code: 'unknown_recipient',
    });
  });

  it('end the connections that have the name of an agent which another one made an orchestrator', async () => {
    await using site = await startTwoBrokerProcesses();
    const early = await issueToken(site.operator, { agent: 'hub', role: 'worker' });
    await using worker = await connectWire(site.other.ready.url, { agent: 'hub#part', token: early.token });
    await issueToken(site.operator, { agent: 'hub', role: 'orchestrator' });
    expect((await worker.closed).code).toBe(4401);
    expect(worker.received.at(-1)).toMatchObject({
      type: 'error',
      message: expect.stringContaining("'hub' is an orchestrator, and the role of this token is 'worker'"),
    });
  });

  it('end a process that is kept for a thread when the rights of its sender change at another one', async () => {
    await using schema = await testSchema();
    const env = { SIGNALBOX_POSTGRES: schema.url };
    const { broker, ...rest } = JSON.parse(everythingText());
    const store = { postgres: `\${env:SIGNALBOX_POSTGRES}`, schema: schema.schema };
    const config = JSON.stringify({ ...rest, broker: { ...broker, store } });
    await using workspace = await startWorkspace(() => config, { env });
    const { directory } = workspace;
    const place = ['--config', join(directory, 'signalbox.yaml'), '--data', join(directory, 'other')];
    await using other = await startDaemon(['broker', ...place], { env });
    const { url } = other.ready as { url: string };
    const atOther = async (...args: string[]) => {
      const { code, stderr } = await workspace.run([...args, '--data', join(directory, 'other')], {
        SIGNALBOX_URL: url,
      });
      expect(code, stderr).toBe(0);
    };
    await using served = await serveAcp(workspace, 'warm', { args: ['--keep', '10m'] });
    /** Takes a turn, and ends its kept process by a command at the other broker. Returns why it ended. */
    const endedBy = async (sender: string, ...command: string[]) => {
      const { env: own } = await workspace.agent(sender, 'researcher');
      expect(await workspace.run(['ask', 'warm', 'hi', '--thread', 'T'], own)).toMatchObject({ code: 0 });
      const pid = Number(served.events('turn_started').at(-1)?.pid);
      expect(isRunning(pid)).toBe(true);
      // It concerns neither the agent nor its senders.
      await workspace.agent('stranger', 'researcher');
      await atOther('token', 'revoke', '--agent', 'stranger');
      await atOther(...command);
      const ended = () => served.events('kept_ended').find((event) => event.pid === pid);
      await expect.poll(ended).toBeDefined();
      expect(isRunning(pid)).toBe(false);
      return ended()?.reason;
    };
    const reason = ['--reason', 'a test'];
    expect(await endedBy('ann', 'hold', '--agent', 'ann', ...reason)).toBe(
      'the rights of ann may have changed',
    );
    expect(await endedBy('bob', 'token', 'revoke', '--agent', 'bob')).toBe(
      'the rights of bob may have changed',
    );
    expect(await endedBy('eve', 'hold', '--tool', 'everything:*', ...reason)).toBe(
      'the rights of agents may have changed',
    );
    await served.stop();
  });

  it('tell which of them live', async () => {
    await using site = await startTwoBrokerProcesses();
    const brokers = async () => {
      const { broker, brokers } = await readStats(site.operator);
      return { broker, brokers: brokers?.map(({ name }) => name) };
    };
    expect(await brokers()).toEqual({ broker: 'one', brokers: ['one', 'other'] });
    await site.other.end('SIGKILL');
    await expect.poll(brokers).toEqual({ broker: 'one', brokers: ['one'] });
  });
});
