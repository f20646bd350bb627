import { z } from 'zod';
import { httpUrl, nonEmpty } from './value-schemas.ts';

const secret = nonEmpty.refine((text) => !/[\r\n]/.test(text), { error: 'must be one line' });

const oauthClient = {
  issuer: httpUrl.optional().describe('found through the server unless given'),
  tokenUrl: httpUrl.optional().describe('found through the issuer unless given'),
  clientId: nonEmpty.optional(),
  clientSecret: secret.optional(),
  scope: nonEmpty.optional().describe('scopes, with blanks between them'),
  resource: z
    .union([httpUrl, z.literal('')])
    .optional()
    .describe("RFC 8707 resource; the server's url unless given, none if empty"),
};

/** The ways to log in to an HTTP server. Secrets belong in `${env:NAME}` or `${file:path}`. */
export const serverAuthSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), token: secret }).describe('a fixed token'),
  z
    .strictObject({
      type: z.literal('client_credentials'),
      ...oauthClient,
      clientId: nonEmpty,
      clientSecret: secret,
    })
    .describe('RFC 6749 section 4.4'),
  z
    .strictObject({
      type: z.literal('token_exchange'),
      ...oauthClient,
      clientId: nonEmpty,
      subjectToken: secret,
      subjectTokenType: nonEmpty.optional(),
      audience: nonEmpty.optional(),
    })
    .refine(({ issuer, tokenUrl }) => issuer !== undefined || tokenUrl !== undefined, {
      error: "needs 'issuer' or 'tokenUrl': the subject token must not go where the server points",
    })
    .describe('RFC 8693'),
  z
    .strictObject({
      type: z.literal('authorization_code'),
      ...oauthClient,
      authorizationUrl: httpUrl.optional().describe('found through the issuer unless given'),
    })
    .describe('a person signs in once, with: signalbox servers auth SERVER'),
]);
