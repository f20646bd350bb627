import { frameLimits, furtherCosts, isJwt, messageOf } from '@signalbox/protocol';
import type { Slices } from '@signalbox/serving';
import type { TokenRecord } from '@signalbox/store';
import type { TokenFollower } from '../cluster/token-follower.ts';
import type { ConnectedCallers } from '../frames/connected-callers.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { TokenRegistry } from './token-registry.ts';
import { describeExpired } from './token-rules.ts';

/** The reason why a token is not accepted. `token_unchecked`: it could not be checked, and may be tried again. */
export interface TokenRefusal {
  code: 'unauthorized' | 'token_unchecked';
  message: string;
  retryAfterMs?: number;
}

/** The record of a token, or the reason why it is refused. */
export type Authenticated = TokenRecord | { refused: TokenRefusal };

/** The time after which a client may try again if its token could not be looked up, in milliseconds. */
const lookUpAgainMs = 1000;

/** The dependencies of an {@link Authentication}. */
export interface AuthenticationDeps {
  tokens: TokenRegistry;
  connected: Pick<ConnectedCallers, 'ofToken'>;
  /** Takes over the tokens of other brokers. */
  others: Pick<TokenFollower, 'hasOthers' | 'follow'>;
  /** The slices that all strangers share. */
  strangers: Slices;
}

/**
 * Authenticates tokens by their texts. For the broker's own tokens, and for known tokens of the identity provider, that costs one hash.
 * Others are checked in the slices of strangers, so that a flood of them delays only strangers.
 */
export class Authentication {
  readonly #deps: AuthenticationDeps;
  #provider: IdentityProvider | undefined;

  constructor(deps: AuthenticationDeps, provider: IdentityProvider | undefined) {
    this.#deps = deps;
    this.#provider = provider;
  }

  /** Tells whether tokens of the identity provider can be checked now; `undefined` if there is none. */
  check(): { ok: boolean; detail: string } | undefined {
    return this.#provider?.check();
  }

  /**
   * Checks tokens with another provider, or under other rules, from now on. Tokens that the new provider did not accept itself are
   * forgotten.
   */
  setProvider(provider: IdentityProvider | undefined): void {
    this.#provider = provider;
    this.#deps.tokens.forgetOfProvider();
  }

  /** Says why a token with this role is not for an agent; see {@link TokenRegistry.refuseRole}. */
  refuseRole(agent: string, role: string): string | undefined {
    return this.#deps.tokens.refuseRole(agent, role);
  }

  /** Checks a token. `isWanted` returns false if nobody waits for the result any more. Never rejects. */
  authenticate(text: string, isWanted: () => boolean = () => true): Authenticated | Promise<Authenticated> {
    if (text.length > frameLimits.tokenLength) {
      const most = `${frameLimits.tokenLength / 1024} KiB`;
      return refuse(
        `the token has ${text.length} characters, and ${most} are the most that a token may have`,
      );
    }
    const known = this.#deps.tokens.authenticate(text);
    if (known !== 'unknown') return 'expired' in known ? refuse(describeExpired(known.expired)) : known;
    if (!isJwt(text)) return this.#deps.others.hasOthers ? this.#ofOthers(text) : refuse(unknown);
    return this.#provider ? this.#ofProvider(text, isWanted) : refuse(noProvider);
  }

  /** Checks a token that another broker may have issued a moment ago. */
  async #ofOthers(text: string): Promise<Authenticated> {
    const { tokens, others } = this.#deps;
    try {
      await others.follow();
    } catch (error) {
      const message = `the token could not be looked up: ${messageOf(error)}`;
      return { refused: { code: 'token_unchecked', message, retryAfterMs: lookUpAgainMs } };
    }
    const known = tokens.authenticate(text);
    if (known === 'unknown') return refuse(unknown);
    return 'expired' in known ? refuse(describeExpired(known.expired)) : known;
  }

  async #ofProvider(text: string, isWanted: () => boolean): Promise<Authenticated> {
    const { tokens, connected, strangers } = this.#deps;
    await new Promise<void>((resolve) => strangers.take(resolve));
    if (!isWanted()) return refuse('the connection ended before the token was checked');
    strangers.spend(furtherCosts.providerToken);
    for (;;) {
      const provider = this.#provider;
      if (!provider) return refuse(noProvider);
      const checked = await provider.verify(text);
      if (provider !== this.#provider) continue;
      if ('refusal' in checked) {
        const { message, retryAfterMs } = checked.refusal;
        return retryAfterMs === undefined
          ? refuse(message)
          : { refused: { code: 'token_unchecked', message, retryAfterMs } };
      }
      const admitted = tokens.admitOfProvider(checked.record, (id) => connected.ofToken(id) > 0);
      if (admitted === 'revoked') return refuse(unknown);
      if (admitted !== 'other_holder') return admitted;
      return refuse(
        `the token of the identity provider is not accepted: another agent has one with the same 'jti'; have ${provider.issuer} give each token a 'jti' of its own`,
      );
    }
  }
}

const unknown = 'the token is not known here, or was revoked';
const noProvider =
  'this is a token of an identity provider (a JWT), and this broker accepts none; set auth in its signalbox.yaml, or use a token of the broker';

function refuse(message: string): { refused: TokenRefusal } {
  return { refused: { code: 'unauthorized', message } };
}
