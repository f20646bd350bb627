export { authorizedFetch } from './authorized-fetch.ts';
export type { AuthEvent, Authorizer, AuthState } from './authorizer.ts';
export { isAboutScope } from './challenge.ts';
export { type AuthorizerOptions, createAuthorizer, hostsOfAuth, signOut } from './create-authorizer.ts';
export { secretsOfAuth } from './secrets-of-auth.ts';
export type {
  AuthorizationCodeAuth,
  BearerAuth,
  ClientCredentialsAuth,
  OAuthClient,
  ServerAuth,
  TokenExchangeAuth,
} from './server-auth.ts';
export { type SignInOptions, signIn } from './sign-in.ts';
export { openRefreshTokenFiles, type RefreshTokenStore } from './sign-in-store.ts';
