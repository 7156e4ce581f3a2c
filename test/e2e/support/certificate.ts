import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: Uint8Array[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const time = (date: Date): Buffer =>
  der(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, "").slice(2, 14)}Z`));
const pem = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${(bytes.toString("base64").match(/.{1,64}/g) ?? []).join("\n")}\n-----END ${label}-----\n`;

const ECDSA_WITH_SHA256 = sequence(oid("2a8648ce3d040302"));
const COMMON_NAME = oid("550403");
const ALTERNATIVE_NAMES = oid("551d11");
const BASIC_CONSTRAINTS = oid("551d13");
const DAY_MS = 24 * 60 * 60 * 1000;

/** A certificate for localhost and 127.0.0.1 that signs itself, and its key (EC P-256), as PEM. It ends in `days`. */
export function makeCertificate(commonName: string, days = 2): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(commonName)))));
  const hosts = sequence(der(0x82, Buffer.from("localhost")), der(0x87, Buffer.from([127, 0, 0, 1])));
  const isIssuer = sequence(der(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(ALTERNATIVE_NAMES, der(0x04, hosts)),
    sequence(BASIC_CONSTRAINTS, der(0x04, isIssuer)),
  );
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(new Date(Date.now() - 30 * DAY_MS)), time(new Date(Date.now() + days * DAY_MS))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = sign("sha256", body, privateKey);
  const cert = sequence(body, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
  return { cert: pem("CERTIFICATE", cert), key: privateKey.export({ type: "pkcs8", format: "pem" }) as string };
}
