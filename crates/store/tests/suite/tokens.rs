//! Tokens: issued, found, listed and revoked.

use referee_store::{IssueError, NewToken, Store, TokenRow, TokenScope, limits};

use super::platform;

fn token(platform: &str, id: &str, scope: TokenScope) -> NewToken {
    NewToken {
        id: id.to_owned(),
        secret_hash: [7; 32],
        principal: "anna".to_owned(),
        platform: platform.to_owned(),
        role: 1,
        scope,
        issuer: "club".to_owned(),
        create_time_us: 1_000,
        expire_time_us: Some(2_000),
    }
}

pub(crate) async fn keeps_tokens_as_they_were_issued(store: &dyn Store) {
    let platform = platform("tokens");
    let game = TokenScope::Game {
        game: "board-1".to_owned(),
        seat: 2,
    };
    let label = TokenScope::Label {
        key: "event".to_owned(),
        value: String::new(),
    };
    for (number, scope) in [TokenScope::Platform, game, label].into_iter().enumerate() {
        let issued = token(&platform, &format!("{platform}-{number}"), scope);
        let row = TokenRow {
            token: issued.clone(),
            revoke_time_us: None,
        };
        assert_eq!(store.issue_token(issued.clone()).await, Ok(row.clone()));
        assert_eq!(store.token(&issued.id).await, Ok(Some(row)));
        let again = store.issue_token(issued).await;
        assert_eq!(again, Err(IssueError::IdTaken));
    }
    assert_eq!(store.token("nobody").await, Ok(None));
    let long = token(&platform, &"x".repeat(65), TokenScope::Platform);
    let refused = store.issue_token(long).await;
    assert!(
        matches!(refused, Err(IssueError::Invalid(_))),
        "{refused:?}"
    );
}

pub(crate) async fn revokes_tokens_within_a_platform(store: &dyn Store) {
    let (other, platform) = (platform("other"), platform("revoke"));
    let id = format!("{platform}-1");
    let issued = store.issue_token(token(&platform, &id, TokenScope::Platform));
    issued.await.expect("the store writes");
    let revoke = async |of: &str, at_us| {
        let revoked = store.revoke_token(id.clone(), Some(of.to_owned()), at_us);
        let revoked = revoked.await.expect("the store writes");
        revoked.map(|row| row.revoke_time_us)
    };
    assert_eq!(revoke(&other, 1_500).await, None, "it is not theirs");
    assert_eq!(revoke(&platform, 1_600).await, Some(Some(1_600)));
    assert_eq!(revoke(&platform, 1_700).await, Some(Some(1_600)), "once");
    let found = store.token(&id).await.expect("the store reads");
    assert_eq!(found.and_then(|row| row.revoke_time_us), Some(1_600));
    let unknown = store.revoke_token("nobody".to_owned(), None, 1_800).await;
    assert_eq!(unknown, Ok(None));
}

pub(crate) async fn lists_tokens_page_by_page(store: &dyn Store) {
    let (other, platform) = (platform("beside"), platform("page"));
    for number in 0..5 {
        for of in [&platform, &other] {
            let id = format!("{of}-{number}");
            let issued = store.issue_token(token(of, &id, TokenScope::Platform));
            issued.await.expect("the store writes");
        }
    }
    let (mut after, mut listed) = (String::new(), Vec::new());
    loop {
        let page = store.tokens(Some(&platform), &after, 2).await;
        let page = page.expect("the store reads");
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after.clone_from(&last.token.id);
        listed.extend(page.into_iter().map(|row| row.token.id));
    }
    let expected: Vec<String> = (0..5)
        .map(|number| format!("{platform}-{number}"))
        .collect();
    assert_eq!(listed, expected);
    let all = store.tokens(None, "", limits::PAGE_ROWS_MAX).await;
    assert!(all.expect("the store reads").len() >= 10);
}
