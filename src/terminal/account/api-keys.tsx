import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { PerpdError } from "../../client/error.ts";
import type { ApiKeyList, CreatedApiKey } from "../../client/types.ts";
import { Dialog } from "../dialogs/dialog.tsx";
import { Refused } from "../dialogs/refused.tsx";
import { text } from "../text/catalogue.ts";
import { dayAndClock, usd, words } from "../text/format.ts";
import { NewKeyForm } from "./new-key.tsx";
import { request } from "./requests.ts";

/** The secret of a new key is on the screen, and nowhere else. */
export const isSecretShown = signal(false);

type Key = ApiKeyList["data"][number];

/** Lists, creates and revokes API keys. A secret is shown once, and is forgotten with the dialog. */
export function ApiKeysDialog({ onClose }: { onClose: () => void }) {
  const [keys, setKeys] = useState<readonly Key[] | null>(null);
  const [created, setCreated] = useState<CreatedApiKey | null>(null);
  const [isWarned, setWarned] = useState(false);
  const [refusal, setRefusal] = useState<PerpdError | null>(null);
  const read = async (): Promise<void> =>
    setRefusal(await request(async (client) => setKeys((await client.keys()).data)));
  useEffect(() => void read(), []);
  const revoke = async (apiKey: string): Promise<void> => {
    const refused = await request((client) => client.revokeKey(apiKey));
    if (refused !== null) return setRefusal(refused);
    if (created?.apiKey === apiKey) forget();
    await read();
  };
  const forget = (): void => {
    setCreated(null);
    setWarned(false);
  };
  // The first time it only says what would be lost.
  const close = (): void => (created === null || isWarned ? onClose() : setWarned(true));
  return (
    <Dialog title={text.accountDialogs.apiKeys} onClose={close}>
      {keys === null && refusal === null && <p class="note">{text.loading}</p>}
      {keys?.length === 0 && <p class="note">{text.accountDialogs.noKeys}</p>}
      <ul class="entries" aria-label={text.accountDialogs.apiKeys}>
        {(keys ?? []).map((key) => (
          <li key={key.apiKey}>
            <div>
              <strong>{key.label}</strong>{" "}
              {key.permissions.map((each) => (
                <span class={each === "WITHDRAW" ? "tag warn" : "tag"}>{words(each)}</span>
              ))}
              <code>{key.apiKey}</code>
              <span class="muted">{limitsOf(key)}</span>
            </div>
            <Revoke label={key.label} onRevoke={() => void revoke(key.apiKey)} />
          </li>
        ))}
      </ul>
      <Refused refusal={refusal} fields={[]} />
      {created === null ? (
        <NewKeyForm
          onCreate={(key) => {
            setCreated(key);
            void read();
          }}
        />
      ) : (
        <Secret created={created} isWarned={isWarned} onDone={forget} />
      )}
    </Dialog>
  );
}

/** Asks once more: a program that trades with the key may leave orders behind. */
function Revoke({ label, onRevoke }: { label: string; onRevoke: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const isFirst = useRef(true);
  // The button that had the focus is gone.
  useEffect(() => {
    if (!isFirst.current) button.current?.focus();
    isFirst.current = false;
  }, [isAsking]);
  if (!isAsking)
    return (
      <button key="ask" ref={button} type="button" class="mini" onClick={() => setAsking(true)}>
        {text.accountDialogs.revoke}
        <span class="hidden"> {label}</span>
      </button>
    );
  return (
    <div class="revoke" role="group" aria-label={`${text.accountDialogs.revoke} ${label}`}>
      <span class="warn" role="alert">
        {text.accountDialogs.revokeHint}
      </span>
      <button key="keep" ref={button} type="button" class="mini" onClick={() => setAsking(false)}>
        {text.accountDialogs.keep}
      </button>
      <button type="button" class="mini danger" onClick={onRevoke}>
        {text.accountDialogs.revokeNow}
        <span class="hidden"> {label}</span>
      </button>
    </div>
  );
}

/** In one line. */
function limitsOf(key: Key): string {
  const { createdAt, expiresAt, allowedIps, allowedSymbols, maxOrderNotional, maxPositionNotional, maxLeverage } = key;
  const parts = [text.accountDialogs.createdAt(dayAndClock(createdAt))];
  if (expiresAt !== null) parts.push(text.accountDialogs.ends(dayAndClock(expiresAt)));
  if (allowedIps.length > 0) parts.push(text.accountDialogs.onlyFrom(allowedIps.join(", ")));
  if (allowedSymbols.length > 0) parts.push(text.accountDialogs.onlyIn(allowedSymbols.join(", ")));
  if (maxOrderNotional !== null) parts.push(text.accountDialogs.ordersUpTo(usd(maxOrderNotional)));
  if (maxPositionNotional !== null) parts.push(text.accountDialogs.positionsUpTo(usd(maxPositionNotional)));
  if (maxLeverage !== null) parts.push(text.accountDialogs.leverageUpTo(maxLeverage));
  return parts.join(" · ");
}

function Secret(props: { created: CreatedApiKey; isWarned: boolean; onDone: () => void }) {
  const { created, isWarned, onDone } = props;
  const button = useRef<HTMLButtonElement>(null);
  // A layout effect: the browser must not paint the secret before.
  useLayoutEffect(() => {
    isSecretShown.value = true;
    return () => {
      isSecretShown.value = false;
    };
  }, []);
  useEffect(() => {
    if (isWarned) button.current?.focus();
  }, [isWarned]);
  return (
    <div class="secret">
      <p role="status">{text.accountDialogs.secretOnce}</p>
      <CopyField label={text.accountDialogs.apiKey} value={created.apiKey} />
      <CopyField label={text.accountDialogs.secret} value={created.secret} />
      {isWarned && (
        <p class="warn" role="alert">
          {text.accountDialogs.secretLost}
        </p>
      )}
      <button ref={button} type="button" class="big accent" onClick={onDone}>
        {text.accountDialogs.secretKept}
      </button>
    </div>
  );
}

function CopyField({ label, value }: { label: string; value: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="copy">
      <label class="stacked-field">
        <span class="muted">{label}</span>
        <input readOnly value={value} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <button
        type="button"
        class="mini"
        onClick={() => {
          // A browser may forbid it: then the text can be selected.
          navigator.clipboard?.writeText(value).then(
            () => setCopied(true),
            () => {},
          );
        }}
      >
        {isCopied ? text.accountDialogs.copied : text.accountDialogs.copy}
        <span class="hidden"> {label}</span>
      </button>
    </div>
  );
}
