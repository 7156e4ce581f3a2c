import { hash } from "node:crypto";
import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { checkTlsFiles, type TlsFiles } from "../../config/tls.ts";
import type { OperatorLog } from "./answer.ts";

export interface TlsOptions extends TlsFiles {
  readonly log: OperatorLog;
  /** How often the files are looked at. Default: 5 s. */
  readonly checkEveryMs?: number;
}

/** Sees a new certificate or key, also when a symbolic link is turned to another file. */
export class CertificateWatch {
  private readonly options: TlsOptions;
  private readonly use: () => void;
  private digest: string;

  /** `use` is called when both files have been replaced by a pair that fits. */
  constructor(options: TlsOptions, use: () => void) {
    this.options = options;
    this.use = use;
    this.digest = digestOf(options);
    const { certFile, keyFile, checkEveryMs: interval = 5000 } = options;
    for (const file of [certFile, keyFile]) watchFile(file, { interval, persistent: false }, this.check);
  }

  stop(): void {
    for (const file of [this.options.certFile, this.options.keyFile]) unwatchFile(file, this.check);
  }

  private readonly check = (): void => {
    const { log } = this.options;
    try {
      const digest = digestOf(this.options);
      if (digest === this.digest) return;
      for (const warning of checkTlsFiles(this.options, Date.now())) log.warn({}, warning);
      this.use();
      this.digest = digest;
      log.info({}, "the new TLS certificate is in use; open connections keep the earlier one");
    } catch (err) {
      // Often only one of the two has been written yet.
      log.warn({ err }, "the changed TLS certificate and key cannot be used; the earlier ones stay in use");
    }
  };
}

const digestOf = ({ certFile, keyFile }: TlsFiles): string =>
  hash("sha256", Buffer.concat([readFileSync(certFile), readFileSync(keyFile)]), "hex");
