//! Creating games.

use referee_store::{CreateError, Created, GameHead, GameKey, NewGame, Store, chain};

use super::{at_once, create, entry, game, hash, new_game, platform, store_one};

pub(crate) async fn creates_a_game(store: &dyn Store) {
    let platform = platform("create");
    let key = GameKey::new(&platform, "g");
    assert_eq!(store.game(&key).await, Ok(None));
    let labels = vec![
        ("round".into(), "3".into()),
        ("tournament".into(), "tata".into()),
    ];
    let asked = NewGame {
        labels: labels.clone(),
        state: -7,
        create_time_us: -5,
        ..new_game(&platform, "g")
    };
    let row = create(store, asked.clone()).await;
    assert_eq!(row.key, key);
    assert_eq!(row.genesis, asked.genesis);
    assert_eq!((row.state, row.sequence), (-7, 0));
    assert_eq!((row.create_time_us, row.update_time_us), (-5, -5));
    assert_eq!(row.labels, labels);
    assert_eq!(row.chain_head, chain::genesis(&key, &asked.genesis));
    assert_eq!(row.last_entry, None);
    let head = GameHead {
        sequence: 0,
        chain: row.chain_head,
        state: -7,
    };
    assert_eq!(store.head(&key).await, Ok(Some(head)));
    assert_eq!(game(store, &key).await, row);
    assert_eq!(store.entries(&key, 0, 10).await, Ok(Vec::new()));
}

pub(crate) async fn creates_once_for_each_request(store: &dyn Store) {
    let platform = platform("create-once");
    let first = create(store, new_game(&platform, "g")).await;

    let repeated = store.create(new_game(&platform, "g")).await;
    assert_eq!(repeated, Ok(Created::Existing(first.clone())));

    // The referee drew another name for the repetition; the first one counts.
    let renamed = NewGame {
        key: GameKey::new(&platform, "h"),
        ..new_game(&platform, "g")
    };
    assert_eq!(
        store.create(renamed).await,
        Ok(Created::Existing(first.clone()))
    );
    assert_eq!(store.game(&GameKey::new(&platform, "h")).await, Ok(None));

    let changed = NewGame {
        content_hash: hash(9),
        ..new_game(&platform, "g")
    };
    assert_eq!(
        store.create(changed).await,
        Err(CreateError::RequestIdReused)
    );

    let other = NewGame {
        request_id: "other".into(),
        ..new_game(&platform, "g")
    };
    assert_eq!(store.create(other).await, Err(CreateError::NameTaken));

    // The answer to a repetition is the game as it stands now.
    store_one(store, entry(&first.key, 0)).await;
    let row = game(store, &first.key).await;
    assert_eq!(row.sequence, 1);
    assert_eq!(
        store.create(new_game(&platform, "g")).await,
        Ok(Created::Existing(row))
    );
}

pub(crate) async fn creates_once_within_a_batch(store: &dyn Store) {
    let platform = platform("create-batch");
    let same = (0..20)
        .map(|_| store.create(new_game(&platform, "same")))
        .collect();
    let answers = at_once(same).await;
    let row = match &answers[0] {
        Ok(Created::New(row)) => row.clone(),
        other => panic!("the first is new: {other:?}"),
    };
    for answer in &answers[1..] {
        assert_eq!(*answer, Ok(Created::Existing(row.clone())));
    }

    let rivals = (0..20).map(|rival| {
        let request_id = format!("rival {rival}");
        store.create(NewGame {
            request_id,
            ..new_game(&platform, "name")
        })
    });
    let answers = at_once(rivals.collect()).await;
    assert!(
        matches!(answers[0], Ok(Created::New(_))),
        "{:?}",
        answers[0]
    );
    for answer in &answers[1..] {
        assert_eq!(*answer, Err(CreateError::NameTaken));
    }
}

pub(crate) async fn creates_within_a_platform(store: &dyn Store) {
    let (one, other) = (platform("tenant"), platform("tenant"));
    create(store, new_game(&one, "g")).await;
    let row = create(store, new_game(&other, "g")).await;
    store_one(store, entry(&row.key, 0)).await;
    assert_eq!(game(store, &GameKey::new(&one, "g")).await.sequence, 0);
    assert_eq!(game(store, &GameKey::new(&other, "g")).await.sequence, 1);
}
