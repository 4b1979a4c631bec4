/** The certificate of the tests. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../fixtures/tls/', import.meta.url));

/** For a server: good for localhost, 127.0.0.1 and ::1. */
export const TLS_CREDENTIALS = {
  key: readFileSync(`${FOLDER}key.pem`, 'utf8'),
  cert: readFileSync(`${FOLDER}cert.pem`, 'utf8'),
};

/** Environment of a program that trusts it. */
export const TRUST = { NODE_EXTRA_CA_CERTS: `${FOLDER}ca.pem` };
