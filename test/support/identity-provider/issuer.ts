import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

/** The audience that the tests' brokers ask for. */
export const audience = 'urn:signalbox';

/** A key pair of an issuer. */
export interface IssuerKey {
  alg: string;
  kid: string;
  privateKey: CryptoKey;
  jwk: JWK;
}

/** Makes a key pair for an algorithm. */
export async function issuerKey(alg: string, kid = `${alg}-1`): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

/** Returns the public part of a key as an issuer publishes it that gives its keys no names. */
export function withoutKid({ jwk: { kid: _, ...jwk } }: IssuerKey): JWK {
  return jwk;
}

/** An issuer that publishes keys and answers as the test says. Tokens are signed by the test itself. */
export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** The keys that it publishes, which may be changed. */
  published: JWK[];
  /** Its answers are held up while this is pending. */
  answersAfter: Promise<void>;
  /** The paths that were asked for. */
  readonly requests: readonly string[];
  /** Signs claims, by default those of an agent `rosa` of the group `writers` for ten minutes. */
  sign(key: IssuerKey, claims?: JWTPayload, header?: Record<string, unknown>): Promise<string>;
}

/** Starts an issuer on a free port, or on `port`. */
export async function startIssuer(keys: readonly IssuerKey[], port = 0): Promise<Issuer> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requests: string[] = [];
  const issuer: Issuer = {
    url,
    published: keys.map(({ jwk }) => jwk),
    answersAfter: Promise.resolve(),
    requests,
    sign: ({ alg, kid, privateKey }, claims = {}, header = {}) =>
      new SignJWT(
        given({ iss: url, aud: audience, sub: 'rosa', groups: 'writers', exp: inSeconds(600), ...claims }),
      )
        .setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('request', async ({ url: path = '' }, response) => {
    requests.push(path);
    await issuer.answersAfter;
    const isMetadata = path === '/.well-known/openid-configuration';
    response.end(
      JSON.stringify(isMetadata ? { issuer: url, jwks_uri: `${url}/jwks` } : { keys: issuer.published }),
    );
  });
  return issuer;
}

/** Returns the time of a claim, so many seconds from now. */
export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

/** Leaves out the claims that are `undefined`. */
function given(claims: JWTPayload): JWTPayload {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
}
