import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { addJournal, beginBackup, finishBackup } from '@signalbox/client/operator/internal';
import { restoreBackup } from '@signalbox/daemon/backup';
import { type McpHost, startMcpHost } from '@signalbox/mcp-host';
import { startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer, readCounter, startTestBroker, tempDir } from '@signalbox/testing';
import fc from 'fast-check';
import { expect, vi } from 'vitest';

const ops = [
  'note',
  'read',
  'call',
  'hang',
  'wait',
  'wait and backup',
  'backup',
  'restore',
  'keep',
  'roll back',
  'lose',
] as const;

/** A step of a run. Those that stop the processes leave calls behind that run, or that nobody has started. */
export type CopyOp = (typeof ops)[number];

export const copyOps = fc.array(fc.constantFrom(...ops), { minLength: 8, maxLength: 12 });

/** The messages that the store must hold: notes that nobody has read, and calls that must end. */
interface Expected {
  notes: Set<string>;
  calls: Set<string>;
}

type Tokens = Record<'orchestrator' | 'rosa' | 'sink', string>;
type Processes = Awaited<ReturnType<typeof startProcesses>>;

/**
 * A broker and an orchestrator with real files, of which backups are made and restored, and whose journal is set back to earlier
 * copies or lost. A call that is not safe to repeat must never run twice, and what had a receipt must be there.
 */
export class CopiesUnderTest implements AsyncDisposable {
  readonly #root: string;
  readonly #host: McpHost;
  readonly #tokens: Tokens;
  readonly #started: AsyncDisposableStack;
  #running: Processes;
  #dataDir: string;
  #expected: Expected = { notes: new Set(), calls: new Set() };
  #backup: { path: string; expected: Expected } | undefined;
  /** Copies of the journal, the oldest first. */
  readonly #journals: string[] = [];
  #count = 0;

  private constructor(
    started: AsyncDisposableStack,
    parts: { root: string; dataDir: string; host: McpHost; tokens: Tokens },
    running: Processes,
  ) {
    this.#started = started;
    this.#root = parts.root;
    this.#dataDir = parts.dataDir;
    this.#host = parts.host;
    this.#tokens = parts.tokens;
    this.#running = running;
  }

  static async open(): Promise<CopiesUnderTest> {
    await using starting = new AsyncDisposableStack();
    const root = starting.use(await tempDir()).path;
    const host = starting.use(
      startMcpHost({ servers: { counter: counterServer(join(root, 'counter.jsonl')) } }),
    );
    await host.inventory();
    const dataDir = join(root, 'data-0');
    const tokens = { orchestrator: '', rosa: '', sink: '' };
    {
      await using broker = await startTestBroker({ dataDir, durability: 'process' });
      tokens.orchestrator = await broker.token('orchestrator', 'orchestrator');
      tokens.rosa = await broker.token('rosa');
      tokens.sink = await broker.token('sink');
    }
    const running = await startProcesses(dataDir, tokens.orchestrator, host);
    return new CopiesUnderTest(starting.move(), { root, dataDir, host, tokens }, running);
  }

  async step(op: CopyOp): Promise<void> {
    const id = `${op.replaceAll(' ', '-')}-${++this.#count}`;
    if (op === 'note') await this.#note(id);
    else if (op === 'read') await this.#read();
    else if (op === 'call') await this.#call(id, 'mcp_counter__count', 'has run');
    else if (op === 'hang') await this.#call(id, 'mcp_counter__slow', 'has run');
    else if (op === 'wait') await this.#callLater(id, async () => {});
    else if (op === 'wait and backup')
      await this.#callLater(id, () => this.#makeBackup(`${id}-copy`, 'no journal'));
    else if (op === 'backup') await this.#makeBackup(id);
    else if (op === 'restore') await this.#restore(id);
    else await this.#changeJournal(op, id);
    this.#expectNoneTwice();
  }

  /** Ends what still runs, and compares everything with what is expected. */
  async finish(): Promise<void> {
    await this.#stopped(async () => {});
    const { url } = this.#running.broker;
    await using rosa = await connectBroker({ url, token: this.#tokens.rosa, agent: 'rosa#reads' });
    await using sink = await connectBroker({ url, token: this.#tokens.sink, agent: 'sink#reads' });
    await vi.waitFor(
      async () => {
        const replies = await rosa.peek({ address: 'rosa', limit: 100 });
        expect(replies.map((reply) => reply.correlation_id).sort()).toEqual([...this.#expected.calls].sort());
      },
      { timeout: 10_000 },
    );
    const notes = await sink.peek({ address: 'sink', limit: 100 });
    expect(new Set(notes.map(({ id }) => id))).toEqual(this.#expected.notes);
    this.#expectNoneTwice();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
    await this.#started.disposeAsync();
  }

  async #note(id: string): Promise<void> {
    const { url } = this.#running.broker;
    await using rosa = await connectBroker({ url, token: this.#tokens.rosa, agent: 'rosa' });
    await rosa.deliver({ to: 'sink', kind: 'note', id });
    this.#expected.notes.add(id);
  }

  async #read(): Promise<void> {
    const { url } = this.#running.broker;
    await using sink = await connectBroker({ url, token: this.#tokens.sink, agent: 'sink' });
    const [oldest] = this.#expected.notes;
    if (oldest === undefined) return;
    await using subscription = await sink.subscribe();
    for await (const { id, seq } of subscription.messages) {
      expect(id).toBe(oldest);
      expect(await sink.ack([seq!])).toMatchObject({ accepted: [seq] });
      break;
    }
    this.#expected.notes.delete(oldest);
  }

  async #call(id: string, tool: string, until: 'has run' | 'is stored'): Promise<void> {
    const { url } = this.#running.broker;
    await using rosa = await connectBroker({ url, token: this.#tokens.rosa, agent: 'rosa' });
    const body = { op: 'call', tool, arguments: { label: id, ms: 60_000 } };
    await rosa.deliver({ to: 'orchestrator', kind: 'mcp_request', id, body });
    this.#expected.calls.add(id);
    if (until === 'has run') await vi.waitFor(() => expect(this.#runs(id)).toBe(1), { timeout: 10_000 });
  }

  /** Sends a call while no orchestrator runs, and does something before one runs it. */
  async #callLater(id: string, meanwhile: () => Promise<void>): Promise<void> {
    await this.#running.stopOrchestrator();
    await this.#call(id, 'mcp_counter__count', 'is stored');
    await meanwhile();
    await this.#stopped(async () => {});
    // Whether it runs is decided by then.
    await this.#call(`${id}-next`, 'mcp_counter__count', 'has run');
  }

  async #makeBackup(id: string, what: 'with journal' | 'no journal' = 'with journal'): Promise<void> {
    const { broker } = this.#running;
    const path = join(this.#root, id);
    const token = await broker.operatorToken();
    await using operator = await connectBroker({ url: broker.url, token, agent: 'operator#asks' });
    const begun = await beginBackup(operator, path);
    await finishBackup(
      operator,
      what === 'with journal' ? await addJournal(operator, 'orchestrator', begun) : undefined,
    );
    this.#backup = { path, expected: copyOf(this.#expected) };
  }

  async #restore(id: string): Promise<void> {
    const backup = this.#backup;
    if (!backup) return;
    await this.#stopped(async () => {
      const dataDir = join(this.#root, id);
      await restoreBackup({ backup: backup.path, dataDir, revokeTokens: false, now: Date.now() });
      this.#dataDir = dataDir;
      this.#expected = copyOf(backup.expected);
    });
  }

  async #changeJournal(op: 'keep' | 'roll back' | 'lose', id: string): Promise<void> {
    await this.#stopped(async () => {
      const journal = join(this.#dataDir, 'journal.db');
      const copy = join(this.#root, `${id}.db`);
      const [earlier] = this.#journals;
      if (op === 'keep') {
        await cp(journal, copy);
        this.#journals.push(copy);
      } else if (op === 'lose') await rm(journal);
      else if (earlier !== undefined) await cp(earlier, journal);
    });
  }

  /** Does something while nothing runs on the files, and starts the processes again. */
  async #stopped(change: () => Promise<void>): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
    await change();
    this.#running = await startProcesses(this.#dataDir, this.#tokens.orchestrator, this.#host);
  }

  #runs(label: string): number {
    return readCounter(join(this.#root, 'counter.jsonl')).filter(
      ({ at, args }) => at === 'start' && args.label === label,
    ).length;
  }

  #expectNoneTwice(): void {
    const labels = readCounter(join(this.#root, 'counter.jsonl'))
      .filter(({ at }) => at === 'start')
      .map(({ args }) => args.label);
    expect(labels.filter((label, n) => labels.indexOf(label) < n)).toEqual([]);
  }
}

function copyOf({ notes, calls }: Expected): Expected {
  return { notes: new Set(notes), calls: new Set(calls) };
}

/** A broker, and an orchestrator that hands running calls to nobody when it stops, as one that is killed. */
async function startProcesses(dataDir: string, token: string, host: McpHost) {
  await using starting = new AsyncDisposableStack();
  const broker = starting.use(await startTestBroker({ dataDir, durability: 'process' }));
  const orchestrator = starting.use(new AsyncDisposableStack());
  const journal = orchestrator.use(await openSqliteJournal({ file: join(dataDir, 'journal.db') }));
  const client = orchestrator.use(await connectBroker({ url: broker.url, token, agent: 'orchestrator' }));
  orchestrator.use(await startOrchestrator({ client, host, policy: wholePolicy(), journal, drainMs: 1 }));
  const started = starting.move();
  return {
    broker,
    stopOrchestrator: () => orchestrator.disposeAsync(),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
