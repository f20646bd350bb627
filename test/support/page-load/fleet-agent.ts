import { encodeFrame, splitFrames } from '@signalbox/protocol';
import { connectWire } from '@signalbox/testing';

const reasons = [
  'the document is locked',
  'the tool answered with an error three times',
  'no branch of this name',
  'the budget of this task is spent',
  'the file is too large to be read',
];

interface Frame {
  type: string;
  seq?: number;
  id?: string;
  kind?: string;
  from?: { agent: string; address: string };
  correlation_id?: string;
}

/** An agent that answers asks, acks notes, and gives up tasks. It keeps nothing of what it was sent. */
export class FleetAgent {
  readonly name: string;
  readonly #send: (text: string) => void;
  /** Called when the agent has given up a task, by its id, or got the reply to an ask. */
  readonly #ends = new Map<string, () => void>();
  #sent = 0;

  private constructor(name: string, send: (text: string) => void) {
    this.name = name;
    this.#send = send;
  }

  static async connect(url: string, name: string, token: string): Promise<FleetAgent> {
    const wire = await connectWire(url, { agent: name, token });
    wire.send({ type: 'subscribe', request_id: 's', window: 256 });
    await wire.next('subscribed');
    wire.socket.removeAllListeners('message');
    const agent = new FleetAgent(name, (text) => wire.socket.send(text));
    wire.socket.on('message', (data) => {
      let answers = '';
      for (const { header, body } of splitFrames(String(data)))
        answers += agent.#answer(JSON.parse(header), body);
      if (answers !== '') wire.socket.send(answers);
    });
    agent.announce('reading the chapter about brokers');
    return agent;
  }

  announce(output: string): void {
    const status = {
      worker: 'run',
      command: 'claude -p',
      last_output: output,
      last_output_at: Date.now(),
    };
    this.#send(encodeFrame({ type: 'announce', status }));
  }

  note(to: FleetAgent, text: string): void {
    this.#deliver(to, 'note', { text });
  }

  /** Asks another agent, and resolves when the reply has come. */
  ask(to: FleetAgent): Promise<void> {
    const id = this.#deliver(to, 'ask', { question: 'is the branch merged?' });
    return new Promise((resolve) => this.#ends.set(id, resolve));
  }

  /** Takes a task of another agent, and gives it up for a reason that the number decides. */
  makeDeadLetter(from: FleetAgent, number: number): Promise<void> {
    const id = from.#deliver(this, 'task', { chapter: number });
    return new Promise((resolve) => this.#ends.set(id, resolve));
  }

  #deliver(to: FleetAgent, kind: string, body: object): string {
    const id = `${this.name}-${++this.#sent}`;
    const header = { type: 'deliver', to: to.name, id, kind };
    this.#send(encodeFrame(header, JSON.stringify(body)));
    return id;
  }

  /** Returns the frames with which it answers one. */
  #answer({ type, seq, id = '', kind, from, ...frame }: Frame, body = ''): string {
    if (type === 'error') throw new Error(`${this.name} was refused: ${JSON.stringify(frame)}`);
    // An ephemeral message needs no ack.
    if (type !== 'message' || seq === undefined) return '';
    if (kind === 'ask') {
      const reply = {
        type: 'deliver',
        to: from!.address,
        id: `re:${id}`,
        kind: 'reply',
        correlation_id: id,
        settles: seq,
      };
      return encodeFrame(reply, '{"answer":"yes, it is"}');
    }
    this.#end(kind === 'reply' ? (frame.correlation_id ?? '') : id);
    if (kind !== 'task') return encodeFrame({ type: 'ack', seqs: [seq] });
    const { chapter } = JSON.parse(body) as { chapter: number };
    const reason = reasons[chapter % reasons.length];
    return encodeFrame({ type: 'nack', seqs: [seq], dead: true, reason });
  }

  #end(id: string): void {
    this.#ends.get(id)?.();
    this.#ends.delete(id);
  }
}
