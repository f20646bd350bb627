/** The contents of a certificate of a {@link TestAuthority}. */
export interface TestCertificate {
  /** Host names and IP addresses. */
  names: readonly string[];
  /** Epoch milliseconds; an hour ago unless given. */
  begins?: number;
  /** Epoch milliseconds; in 100 days unless given. */
  ends?: number;
}

/** A certificate authority for tests that signs certificates, with keys on P-256. */
export interface TestAuthority {
  /** Its own certificate as PEM, which clients trust. */
  readonly ca: string;
  issue(certificate: TestCertificate): Promise<{ cert: string; key: string }>;
}

const hour = 60 * 60 * 1000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Makes an authority. */
export async function testAuthority(name = 'Signalbox tests'): Promise<TestAuthority> {
  // The library needs it, and only the tests with certificates need the library.
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = await newKeys();
  const issuer = `CN=${name}`;
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    name: issuer,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - hour),
    notAfter: new Date(Date.now() + 2400 * hour),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    ca: own.toString('pem'),
    async issue({ names, begins = Date.now() - hour, ends = Date.now() + 2400 * hour }) {
      const pair = await newKeys();
      const certificate = await x509.X509CertificateGenerator.create({
        subject: `CN=${names[0]}`,
        issuer,
        publicKey: pair.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        notBefore: new Date(begins),
        notAfter: new Date(ends),
        extensions: [
          new x509.SubjectAlternativeNameExtension(
            names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value })),
          ),
        ],
      });
      const exported = Buffer.from(await crypto.subtle.exportKey('pkcs8', pair.privateKey));
      const key = `-----BEGIN PRIVATE KEY-----\n${exported.toString('base64')}\n-----END PRIVATE KEY-----\n`;
      return { cert: certificate.toString('pem'), key };
    },
  };
}

function newKeys() {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}
