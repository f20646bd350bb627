import type { HookSignature } from '@signalbox/protocol/internal';

/** A webhook: the recipient of its messages, their kind, and the proof of its sender's identity. */
export interface HookEntry {
  to: string;
  kind: string;
  secret: string;
  signature: HookSignature;
}

/** The webhooks of a broker by name. The path of each is `/hooks/NAME`. */
export type HookSettings = Readonly<Record<string, HookEntry>>;
