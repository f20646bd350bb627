import { figure } from '@signalbox/protocol/internal';
import type { TokenRecord } from '@signalbox/store';
import { RateLimit } from '../limits/rate-limit.ts';
import type { RoleLimits } from '../limits/role-limits.ts';
import type { TokenRegistry } from './token-registry.ts';

/** The reason why a minting token may not issue another token now. */
export interface MintingRefusal {
  code: 'quota_exceeded' | 'rate_limited';
  message: string;
  retryAfterMs?: number;
}

/** Limits the tokens that each minting token issues: its live tokens, and its new tokens per minute. */
export class MintingLimits {
  readonly #limits: RoleLimits;
  readonly #tokens: Pick<TokenRegistry, 'liveChildren'>;
  readonly #rates = new Map<string, RateLimit>();

  constructor(limits: RoleLimits, tokens: Pick<TokenRegistry, 'liveChildren'>) {
    this.#limits = limits;
    this.#tokens = tokens;
  }

  /**
   * Counts one more token of a minting token. Returns the reason why it may not be issued, or `undefined`. `now` is in monotonic
   * milliseconds.
   */
  take({ id, role }: TokenRecord, now: number): MintingRefusal | undefined {
    const { perMinter, mintedPerMinute } = this.#limits.of(role).tokens;
    if (this.#tokens.liveChildren(id) >= perMinter) {
      const raise = this.#limits.setting(role, 'tokens', 'perMinter');
      const message = `${figure(perMinter)} tokens of this minting token are live, the most for role '${role}'; revoke some, or raise ${raise}`;
      return { code: 'quota_exceeded', message };
    }
    const rate = this.#rates.get(id) ?? new RateLimit(mintedPerMinute / 60, mintedPerMinute, now);
    this.#rates.set(id, rate);
    const retryAfterMs = rate.take(now);
    if (retryAfterMs === 0) return undefined;
    const raise = this.#limits.setting(role, 'tokens', 'mintedPerMinute');
    const message = `more than ${figure(mintedPerMinute)} tokens a minute of one minting token for role '${role}'; issue them more slowly, or raise ${raise}`;
    return { code: 'rate_limited', message, retryAfterMs };
  }
}
