import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** The kinds of keys of NATS: the first byte of their text form. */
const OPERATOR = 14 << 3;
const ACCOUNT = 0;
const USER = 20 << 3;
const SEED = 18 << 3;

interface NKey {
  readonly name: string;
  readonly seed: string;
  readonly key: KeyObject;
}

const base32 = (bytes: Uint8Array): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{1,5}/g) ?? [])
    .map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five.padEnd(5, "0"), 2)])
    .join("");
};

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let i = 0; i < 8; i++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

function textOf(prefix: readonly number[], key: Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(prefix), key]);
  const crc = crc16(bytes);
  return base32(Buffer.concat([bytes, Buffer.from([crc & 255, crc >> 8])]));
}

function makeKey(kind: number): NKey {
  const { privateKey } = generateKeyPairSync("ed25519");
  const { d = "", x = "" } = privateKey.export({ format: "jwk" });
  const seedPrefix = [SEED | (kind >> 5), (kind & 31) << 3];
  return {
    name: textOf([kind], Buffer.from(x, "base64url")),
    seed: textOf(seedPrefix, Buffer.from(d, "base64url")),
    key: privateKey,
  };
}

function issue(issuer: NKey, subject: NKey, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { jti: subject.name, iat: Math.floor(Date.now() / 1000), iss: issuer.name, sub: subject.name };
  const text = `${part({ typ: "JWT", alg: "ed25519-nkey" })}.${part({ ...claims, name: subject.name, nats })}`;
  return `${text}.${sign(null, Buffer.from(text), issuer.key).toString("base64url")}`;
}

const block = (title: string, text: string): string => `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n`;

/** An operator with one account, as `nsc` would make them: what the server is told, and credentials of users. */
export class NatsAccounts {
  private readonly operator = makeKey(OPERATOR);
  private readonly account = makeKey(ACCOUNT);
  /** Of the server itself. */
  private readonly system = makeKey(ACCOUNT);

  /** Lines of the server's configuration. */
  lines(): string[] {
    const unlimited = {
      subs: -1,
      data: -1,
      payload: -1,
      imports: -1,
      exports: -1,
      conn: -1,
      leaf: -1,
      wildcards: true,
    };
    const limits = { ...unlimited, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
    const account = issue(this.operator, this.account, { limits, type: "account", version: 2 });
    const system = issue(this.operator, this.system, { limits: unlimited, type: "account", version: 2 });
    return [
      `operator: ${issue(this.operator, this.operator, { type: "operator", version: 2 })}`,
      "resolver: MEMORY",
      `resolver_preload: { ${this.account.name}: ${account}, ${this.system.name}: ${system} }`,
      `system_account: ${this.system.name}`,
    ];
  }

  /** The content of a .creds file. Default: the user may do everything. */
  credentials({ publish, subscribe }: { publish?: readonly string[]; subscribe?: readonly string[] } = {}): string {
    const user = makeKey(USER);
    const allow = (subjects: readonly string[] | undefined) => (subjects === undefined ? {} : { allow: subjects });
    const limits = { subs: -1, data: -1, payload: -1 };
    const nats = { pub: allow(publish), sub: allow(subscribe), ...limits, type: "user", version: 2 };
    return block("NATS USER JWT", issue(this.account, user, nats)) + block("USER NKEY SEED", user.seed);
  }
}
