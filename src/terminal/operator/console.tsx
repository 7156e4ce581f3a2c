import { useSignal } from "@preact/signals";
import { Toasts } from "../dialogs/toasts.tsx";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { clock } from "../text/format.ts";
import { ActionDialog } from "./actions.tsx";
import { Acts, Fund, Liquidations, Rates } from "./lists.tsx";
import { client, figuresFreshness, listsFreshness, reading, refusedToken, signIn, signOut } from "./session.ts";
import { AuditPanel, HealthPanel } from "./state-panels.tsx";
import { SymbolsPanel } from "./symbols.tsx";
import { texts } from "./texts.ts";

export function Console() {
  const isSignedIn = client.value !== null;
  const fault = isSignedIn ? staleText() : null;
  return (
    <div class="console">
      <TopBar />
      <div role="alert" class="banner" data-on={fault !== null || undefined}>
        {fault}
      </div>
      <main aria-label={texts.operator} data-stale={figuresFreshness.value.staleReason !== null || undefined}>
        {isSignedIn ? <Panels /> : <SignIn />}
      </main>
      {isSignedIn && <ActionDialog />}
      <Toasts />
    </div>
  );
}

/** Null: nothing is old. Old figures mean old lists. */
function staleText(): string | null {
  const { staleReason, readAt } = figuresFreshness.value;
  if (staleReason !== null) return texts.staleSince(readAt === 0 ? texts.none : clock(readAt), staleReason);
  const { staleReason: reason, readAt: listsReadAt } = listsFreshness.value;
  if (reason === null) return null;
  return listsReadAt === 0 ? texts.listsNotRead(reason) : texts.listsStaleSince(clock(listsReadAt), reason);
}

function Panels() {
  return (
    <>
      <div class="column wide">
        <SymbolsPanel />
        <Rates />
      </div>
      <div class="column state-column">
        <HealthPanel />
        <AuditPanel />
      </div>
      <Fund />
      <Liquidations />
      <Acts />
    </>
  );
}

function TopBar() {
  const isSignedIn = client.value !== null;
  const isLight = settings.value.theme === "light";
  const isStale = figuresFreshness.value.staleReason !== null;
  return (
    <header class="top">
      <h1 class="console-title">
        <span class="logo">
          perp<b>d</b>
        </span>{" "}
        <span class="tag">{texts.operator}</span>
      </h1>
      {isSignedIn && (
        <>
          <span class={`light ${isStale ? "lost" : "open"}`} role="status">
            {isStale ? texts.stale : texts.live}
          </span>
          <span class="position" title={texts.logPositionHint}>
            {texts.logPosition} <strong class="num">{reading.value?.sequence ?? texts.none}</strong>
          </span>
        </>
      )}
      <div class="top-actions">
        <button
          type="button"
          class="icon"
          aria-label={text.theme}
          aria-pressed={isLight}
          onClick={() => set("theme", isLight ? "dark" : "light")}
        >
          {isLight ? "☾" : "☀"}
        </button>
        {isSignedIn && (
          <button type="button" class="mini" onClick={() => signOut()}>
            {texts.signOut}
          </button>
        )}
      </div>
    </header>
  );
}

function SignIn() {
  const token = useSignal("");
  const isSending = useSignal(false);
  const refusal = refusedToken.value;
  const send = async (): Promise<void> => {
    const typed = token.value.trim();
    if (typed === "" || !/^[\x21-\x7e]+$/.test(typed)) {
      refusedToken.value = texts.enterToken;
      return;
    }
    isSending.value = true;
    await signIn(typed);
    isSending.value = false;
  };
  return (
    <section class="panel sign-in" aria-label={texts.signInTitle}>
      <h2>{texts.signInTitle}</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label for="token">{texts.token}</label>
        {/* No password field: browsers offer to store what is typed there. */}
        <div class="box" data-bad={refusal !== null || undefined}>
          <input
            id="token"
            class="secret"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            maxLength={1000}
            value={token.value}
            aria-invalid={refusal !== null}
            aria-describedby="token-note"
            onInput={(event) => {
              token.value = event.currentTarget.value;
              refusedToken.value = null;
            }}
          />
        </div>
        <p id="token-note" class={refusal === null ? "note" : "note bad"} role="status">
          {refusal ?? texts.tokenHint}
        </p>
        <button type="submit" class="big accent" disabled={isSending.value}>
          {isSending.value ? texts.signingIn : texts.signIn}
        </button>
      </form>
    </section>
  );
}
