/** How a gateway proves to an HTTP server who it is. Secrets are values here: references were resolved before. */
export type ServerAuth = BearerAuth | ClientCredentialsAuth | TokenExchangeAuth | AuthorizationCodeAuth;

/** A fixed token, sent as `Authorization: Bearer`. */
export interface BearerAuth {
  type: 'bearer';
  token: string;
}

/** What every OAuth flow needs. Endpoints that are left out are discovered from the server or its issuer. */
export interface OAuthClient {
  /** Issuer of the authorization server; found through the server's protected-resource metadata unless given. */
  issuer?: string;
  tokenUrl?: string;
  clientId?: string;
  clientSecret?: string;
  scope?: string;
  /** RFC 8707 resource indicator; what the server says, else its URL, unless given. Empty: none is sent. */
  resource?: string;
}

/** RFC 6749 §4.4. */
export interface ClientCredentialsAuth extends OAuthClient {
  type: 'client_credentials';
}

/** RFC 8693, with the subject token of the gateway's own session. */
export interface TokenExchangeAuth extends OAuthClient {
  type: 'token_exchange';
  subjectToken: string;
  subjectTokenType?: string;
  audience?: string;
}

/** RFC 6749 §4.1 with PKCE: a person signs in once, through `signalbox tools auth SERVER`. */
export interface AuthorizationCodeAuth extends OAuthClient {
  type: 'authorization_code';
  /** Used instead of the discovered one. */
  authorizationUrl?: string;
}
