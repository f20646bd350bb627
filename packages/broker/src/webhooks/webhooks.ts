import { configuredSender, type Sender, SignalboxError } from '@signalbox/protocol';
import { type HookSignature, hookSecret } from '@signalbox/protocol/internal';
import type { ReachedAt } from '../reached-at.ts';
import type { HookEntry, HookSettings } from './hook-settings.ts';

/** The counts of a webhook since the broker started. Times are in epoch milliseconds. */
export interface HookCounts {
  stored: number;
  /** The number of deliveries that were stored before. */
  repeated: number;
  /** The number of refusals with each code. */
  readonly refused: Map<string, number>;
  /** The time at which a delivery was last stored or repeated, in epoch milliseconds. */
  deliveredAt: number | undefined;
  lastRefusal: { at: number; reason: string } | undefined;
}

/** A webhook of a running broker. */
export interface Hook {
  readonly name: string;
  readonly sender: Sender;
  readonly to: string;
  readonly kind: string;
  readonly signature: HookSignature;
  readonly key: Buffer;
  readonly counts: HookCounts;
}

/** The path of a webhook is this and its name. */
export const hookPath = '/hooks/';

/** Keeps the webhooks of the configuration, and the counts of each. */
export class Webhooks {
  #hooks: ReadonlyMap<string, Hook>;
  readonly #reached: ReachedAt;

  /** Makes the webhooks. Throws `bad_config` for a secret that can't be used. */
  constructor(settings: HookSettings, reached: ReachedAt) {
    this.#hooks = hooksOf(settings, new Map());
    this.#reached = reached;
  }

  /** Replaces the webhooks. Those of the same name keep their counts. Throws `bad_config`, and then changes nothing. */
  set(settings: HookSettings): void {
    this.#hooks = hooksOf(settings, this.#hooks);
  }

  /** Returns the webhook of a name. */
  get(name: string): Hook | undefined {
    return this.#hooks.get(name);
  }

  /** Returns the addresses of a webhook, one for each origin. */
  urlsOf({ name }: Hook): string[] {
    return this.#reached.origins.map((origin) => `${origin}${hookPath}${name}`);
  }

  /** Yields all webhooks. */
  all(): Iterable<Hook> {
    return this.#hooks.values();
  }
}

function hooksOf(settings: HookSettings, before: ReadonlyMap<string, Hook>): ReadonlyMap<string, Hook> {
  return new Map(
    Object.entries(settings).map(([name, entry]) => [name, hookOf(name, entry, before.get(name)?.counts)]),
  );
}

function hookOf(name: string, { to, kind, secret, signature }: HookEntry, counts = noCounts()): Hook {
  const judged = hookSecret(signature, secret);
  if ('problem' in judged) throw new SignalboxError('bad_config', `hooks.${name}.secret: ${judged.problem}`);
  return { name, sender: configuredSender('hook', name), to, kind, signature, key: judged.key, counts };
}

function noCounts(): HookCounts {
  return { stored: 0, repeated: 0, refused: new Map(), deliveredAt: undefined, lastRefusal: undefined };
}
