import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { ConfigError } from "./error.ts";

/** A certificate with those of its issuers, and its private key, both in PEM form. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

const READABLE_BY_OTHERS = 0o004;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "this user may not read it",
  EISDIR: "it is a folder",
};

/** The files of the settings; null without TLS. Throws ConfigError if one of the two is missing. */
export function tlsFilesOf(certFile: string, keyFile: string): TlsFiles | null {
  if (certFile === "" && keyFile === "") return null;
  const [missing, given] = certFile === "" ? ["tlsCertFile", "tlsKeyFile"] : ["tlsKeyFile", "tlsCertFile"];
  if (certFile === "" || keyFile === "")
    throw new ConfigError(`${missing}: missing, but ${given} is set; TLS needs the certificate and its private key`);
  return { certFile, keyFile };
}

/** Returns warnings about files that TLS can use. Throws ConfigError with the setting and the reason for others. */
export function checkTlsFiles({ certFile, keyFile }: TlsFiles, now: number): string[] {
  const cert = readPem("tlsCertFile", certFile);
  const key = readPem("tlsKeyFile", keyFile);
  const certificate = parseCertificate(certFile, cert);
  if (!certificate.checkPrivateKey(parseKey(keyFile, key)))
    throw new ConfigError(
      `tlsKeyFile: the key in ${keyFile} does not belong to the first certificate in ${certFile}, which must be the server's own`,
    );
  try {
    createSecureContext({ cert, key, minVersion: "TLSv1.2" });
  } catch (error) {
    throw new ConfigError(`tlsCertFile: TLS cannot use ${certFile}: ${(error as Error).message}`);
  }
  const { validFrom, validTo } = certificate;
  const warnings: string[] = [];
  if (Date.parse(validFrom) > now) warnings.push(`tlsCertFile: the certificate is not valid before ${validFrom}`);
  if (Date.parse(validTo) < now) warnings.push(`tlsCertFile: the certificate has been invalid since ${validTo}`);
  if ((statSync(keyFile).mode & READABLE_BY_OTHERS) !== 0)
    warnings.push(`tlsKeyFile: every user of this machine can read the private key; chmod o-r ${keyFile}`);
  return warnings;
}

function readPem(setting: string, path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${setting}: cannot read ${path}: ${REASONS[code] ?? message}`);
  }
}

function parseCertificate(path: string, text: string): X509Certificate {
  try {
    // It takes binary forms, too; the server does not.
    if (text.includes("-----BEGIN CERTIFICATE-----")) return new X509Certificate(text);
  } catch {}
  throw new ConfigError(
    `tlsCertFile: ${path} holds no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----`,
  );
}

function parseKey(path: string, text: string): KeyObject {
  try {
    if (text.includes("PRIVATE KEY-----")) return createPrivateKey(text);
  } catch {
    if (text.includes("ENCRYPTED"))
      throw new ConfigError(
        `tlsKeyFile: the key in ${path} has a passphrase; remove it with: openssl pkey -in ${path} -out FILE`,
      );
  }
  throw new ConfigError(
    `tlsKeyFile: ${path} holds no private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----`,
  );
}
