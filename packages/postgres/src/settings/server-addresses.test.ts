import { expect, it } from 'vitest';
import { serverAddresses } from './server-addresses.ts';

it.each([
  ['postgres://db/signalbox', ['postgres://db/signalbox']],
  ['postgresql:///signalbox', ['postgresql:///signalbox']],
  ['postgres://rosa:a%40b@db:6432/x?sslmode=require', ['postgres://rosa:a%40b@db:6432/x?sslmode=require']],
  [
    'postgres://rosa:hush@a,b:5433,[::1]:5434/x?target_session_attrs=read-write',
    [
      'postgres://rosa:hush@a/x?target_session_attrs=read-write',
      'postgres://rosa:hush@b:5433/x?target_session_attrs=read-write',
      'postgres://rosa:hush@[::1]:5434/x?target_session_attrs=read-write',
    ],
  ],
  ['postgres://rosa@/x?host=/run/pg', ['postgres://rosa@/x?host=/run/pg']],
  [
    'postgres://rosa@localhost/x?host=/run/a,/run/b&port=5432,5433',
    [
      'postgres://rosa@localhost/x?host=%2Frun%2Fa&port=5432',
      'postgres://rosa@localhost/x?host=%2Frun%2Fb&port=5433',
    ],
  ],
])('reads the servers of %s', (address, servers) => {
  expect(serverAddresses(address)).toEqual({ servers });
});

it.each([
  ['mysql://db/x', 'it does not begin with postgres://'],
  ['db.example.com', 'it does not begin with postgres://'],
  ['postgres://[', 'a host, a port or the password is written wrongly'],
  ['postgres://a:x/db', 'a host, a port or the password is written wrongly'],
  ['postgres://a:5432,b:99999/db', 'a host, a port or the password is written wrongly'],
  ['postgres://a,b/db?target_session_attrs=standby', "target_session_attrs can't be standby"],
  ['postgres://db/x?sslmode=verify_full', "sslmode can't be 'verify_full'; it is one of disable, allow"],
  ['postgres://db/x?sslmode=no-verify', "sslmode can't be 'no-verify'"],
  ['postgres://db/x?ssl=no-verify', "ssl can't be 'no-verify'; write sslmode instead"],
  ['postgres://db/x?sslmode=require&sslrootcert=system', 'write sslmode=verify-full'],
  ['postgres://db/x?sslmode=require&sslcert=/a.crt', 'sslcert and sslkey go together'],
  ['postgres://db/x?sslmode=verify-full&sslcrl=/a.crl', "sslcrl can't be applied"],
])('says what is wrong with %s', (address, problem) => {
  expect(serverAddresses(address)).toEqual({ problem: expect.stringContaining(problem) });
});
