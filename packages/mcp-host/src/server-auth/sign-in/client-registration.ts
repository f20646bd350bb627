import { SignalboxError } from '@signalbox/protocol';
import { dynamicClientRegistration, None } from 'openid-client';
import type { AuthorizationCodeAuth } from '../auth-config.ts';
import { type AuthorizationServer, discoveryOptions, secretMethod } from '../oauth/authorization-server.ts';

/** A client that an authorization server knows. Without a secret it is a public client. */
export interface Client {
  clientId: string;
  clientSecret?: string | undefined;
}

/** Returns the configured client, or one that is registered now, if the authorization server supports that (RFC 7591). */
export async function clientFor(
  { metadata, algorithm }: AuthorizationServer,
  redirectUri: string,
  { clientId, clientSecret }: AuthorizationCodeAuth,
  send: typeof fetch,
): Promise<Client> {
  if (clientId !== undefined) return { clientId, clientSecret };
  if (metadata.registration_endpoint === undefined || algorithm === undefined) {
    throw new SignalboxError(
      'auth_failed',
      `the authorization server registers no clients by itself: register one there with the redirect URI ${redirectUri.replace(/:\d+/, '')} (any port), and set auth.clientId`,
    );
  }
  const isPublic = metadata.token_endpoint_auth_methods_supported?.includes('none') ?? false;
  const registered = await dynamicClientRegistration(
    new URL(metadata.issuer),
    {
      client_name: 'Signalbox',
      application_type: 'native',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: isPublic ? 'none' : secretMethod(metadata),
    },
    None(),
    discoveryOptions(algorithm, send),
  );
  const { client_id, client_secret } = registered.clientMetadata();
  return { clientId: client_id, clientSecret: client_secret };
}
