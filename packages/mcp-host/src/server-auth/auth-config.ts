/** The `auth` of an HTTP server in the configuration. It holds the secrets themselves; references to them have been resolved. */
export type ServerAuth = BearerAuth | ClientCredentialsAuth | TokenExchangeAuth | AuthorizationCodeAuth;

/** A fixed token, sent as `Authorization: Bearer`. */
export interface BearerAuth {
  type: 'bearer';
  token: string;
}

/** The settings that every OAuth flow has. Endpoints that are left out are found through the server or the issuer. */
export interface OAuthClient {
  /** The issuer of the authorization server; found through the server's protected-resource metadata unless given. */
  issuer?: string;
  tokenUrl?: string;
  clientId?: string;
  clientSecret?: string;
  scope?: string;
  /**
   * The resource indicator (RFC 8707). By default it is the one that the server names, or else the server's URL. If it is empty, none is
   * sent.
   */
  resource?: string;
}

/** OAuth client credentials (RFC 6749 §4.4). */
export interface ClientCredentialsAuth extends OAuthClient {
  type: 'client_credentials';
}

/** OAuth token exchange (RFC 8693) with the subject token of the gateway's own session. */
export interface TokenExchangeAuth extends OAuthClient {
  type: 'token_exchange';
  subjectToken: string;
  subjectTokenType?: string;
  audience?: string;
}

/** OAuth authorization code with PKCE (RFC 6749 §4.1): a person signs in once, with `signalbox servers auth SERVER`. */
export interface AuthorizationCodeAuth extends OAuthClient {
  type: 'authorization_code';
  /** Replaces the authorization endpoint that was found. */
  authorizationUrl?: string;
}

/** The types of `auth` that use OAuth. */
export type OAuthAuth = Exclude<ServerAuth, BearerAuth>;
